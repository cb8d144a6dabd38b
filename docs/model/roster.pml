/*
 * Rosters, epochs and key logs of protocol 2 (docs/protocol.md, sections 3 and 4) with a server
 * that may act arbitrarily. README.md lists what is left out.
 *
 * A and B are owners, with the devices A1 and B1. C1 is a device of a member, who may be dishonest.
 * A2 is a second device of A. Key log of A: place 1 revokes A2. Key log of C: place 1 is a reset
 * with the recovery key or without it (the new device is C2), or C's last device signs out; place 2
 * is a reset with the recovery key that undoes one without (the new device is C3). Each device that
 * left its key log is in the hands of a thief, who keeps its secrets and continues to use it.
 *
 * An entry is represented by its number, as if by a hash. Entry 0 opens the connection. The server
 * shows a device a stored entry together with all entries before it: nothing else is possible with
 * a history. Entries that every device refuses are never made, because they change nothing.
 *
 * There is one process. Each step is atomic, so that only states between steps are stored.
 */
#define A 0
#define B 1
#define C 2

#define A1 0
#define B1 1
#define C1 2
#define A2 3
#define C2 4
#define C3 5
#define DEVICES 6

#define SLOTS 8 /* entries; the last two are for `settle` */
#define NONE 15 /* the newest entry of a device without entries */

/* Worlds: the existing devices and the possible events. */
#define ADMISSION 1
#define REVOCATION 2
#define RESET 3
#define CONSENT 4
#define OWNERS 5
#define REPLACEMENT 6

/* The kinds of place 1 in C's key log. */
#define WITH_PAPER 1
#define WITHOUT_PAPER 2
#define SIGN_OUT 3

/* Entries. A lie is a rotation by a dishonest member: it seals another K to A1 or B1, or a row
   for A names a place that does not exist. */
#define ADD 1
#define REMOVE 2
#define LEAVE 3
#define ROTATE 4
#define CONFIRM 5
#define END 6
#define LIE_TO_A1 7
#define LIE_TO_B1 8
#define LIE_IN_A_ROW 9

/* Planted mistakes: at most one, chosen when the search starts. */
#define FORMER_MEMBER_SIGNS 1
#define REVOKED_DEVICE_SIGNS 2
#define ANY_GENERATION_SIGNS 3
#define PAPER_LINKS_TO_ALL 4
#define ROWS_MOVE_THE_SEAT 5
#define TAKES_KEY_LOGS_ON_TRUST 6
#define VERIFIES_WHILE_DUE 7
#define MINDS_ITS_OWN_REVOCATIONS_ONLY 8
#define TRUSTS_A_DEVICE_THAT_REVOKED_ITSELF 9
#define ANY_ENTRY_SETTLES_A_REVOCATION 10
#define TRUSTS_WHO_REMOVED_ITSELF 11
#define REMOVAL_KEEPS_THE_EPOCH 12
#define CONFIRM_KEEPS_THE_EPOCH 13
#define LINKED_RESETS_HOLD_NOTHING 14
#define ROWS_COUNT_UNCHECKED 15
#define ROWS_ARE_IGNORED 16
#define ROWS_RAISE_THE_LAST_PLACE 17
#define A_ROW_REFUSES_THE_ENTRY 18
#define JUDGES_BY_THE_NEWEST_LOG 19
#define AN_OLD_CONSENT_REFUSES_THE_ENTRY 20
#define COMMITMENT_UNCHECKED 21
#define KEEPS_THE_K_OF_A_LOST_RACE 22
#define SEALS_UNCHECKED 23
#define SEALS_BY_THE_OLD_LIST 24
#define SEALS_TO_UNCONFIRMED_KEYS 25
#define ACCEPTS_LOWER 26
#define FOLLOWS_A_FORK 27
#define FORGETS_THE_ROSTER 28
#define FORGETS_THE_FORK 29
#define TAKES_A_SHORT_BRANCH_FOR_A_ROLLBACK 30
#define ADDS_WHILE_A_ROTATION_IS_PENDING 31
#define TWO_POSTS 32
#define CONSENT_UNCHECKED 33
#define CONSENT_OUTLIVES_AN_EXIT 34
#define STAYS_WHERE_IT_WITHDREW 35
#define ENTRIES_AFTER_THE_END 36
#define VERIFIES_AFTER_THE_END 37
#define JOINS_WITHOUT_EVIDENCE 38
#define JOINS_ANY_REPLACEMENT 39
#define THE_LAST_OWNER_LEAVES 40
#define MINDS_FORMER_MEMBERS 41
#define SEALS_BEYOND_A_ROW 42
#define INVITES_WHO_WENT 43
#define FOLLOWS_WITH_WHO_WENT 44

#define planted(mistake) (chosen == mistake)

/* Sets are bits. */
#define bit(x) (1 << (x))
#define has(set, x) (((set) >> (x)) & 1)
#define is_within(some, all) (((some) & ~(all)) == 0)
#define account(d) (d == A2 -> A : (d >= C2 -> C : d))

#define OWNER_SET (bit(A) | bit(B))

typedef Entry {
  unsigned line : 8;     /* set of entries: this one and all before it */
  unsigned prev : 3;     /* the previous entry */
  unsigned opened : 3;   /* the entry that opened its epoch */
  unsigned members : 3;  /* set of accounts */
  unsigned gone : 3;     /* former members */
  unsigned went : 1;     /* C left or was removed in this epoch */
  unsigned pending : 1;  /* a member left this epoch, or opened it by removing itself */
  unsigned ended : 1;
  unsigned consent : 3;  /* the roster head that the consent of C's last `add` names */
  unsigned left : 3;     /* the entry by which C last left or was removed; 0: none */
  unsigned seat : 2;     /* the generation of C's key log that holds the seat */

  /* Places of the key logs of A and C: the last one named, the one that the epoch covers, and the
     row of the entry that opened it (0: none; NO_SUCH_PLACE: it does not fit the log). */
  unsigned named_a : 1;
  unsigned named_c : 2;
  unsigned base_a : 1;
  unsigned base_c : 2;
  unsigned row_a : 2;
  unsigned row_c : 2;

  unsigned by : 3;       /* the device that signed it; only a planted mistake uses this */

  /* If the entry opens an epoch: sets of devices. */
  unsigned sealed : 6;   /* those that have its K, or an envelope with its K at the server */
  unsigned admitted : 1; /* C was added in some history of this epoch */
  unsigned wrong : 2     /* those to which a dishonest member sealed another K */
}
#define NO_SUCH_PLACE 3

typedef View {
  unsigned known : 4;    /* the newest entry that the device has stored */
  unsigned k : 2;        /* its stored K, of the epoch of `known` */
  unsigned log_a : 1;    /* the places of the key logs that it has seen */
  unsigned log_c : 2;
  unsigned forked : 1;   /* it has seen two histories */
  unsigned joined : 1;   /* it consented to the replacement of the forked connection */
  unsigned went : 3;     /* accounts that left in the other history that it has seen */

  /* Not part of the device: */
  unsigned highest : 4;  /* the newest entry that it ever stored */
  unsigned saw : 8       /* entries stored or shown; of two histories, the first two that differ */
}
#define NO_K 0
#define RIGHT_K 1
#define ANOTHER_K 2

Entry entry[SLOTS];
View dev[DEVICES];
unsigned stored : 4 = 1; /* entries that the server has */
unsigned log_a : 1;
unsigned log_c : 2;
unsigned first : 2;      /* WITH_PAPER, WITHOUT_PAPER, SIGN_OUT */
unsigned by_itself : 1;  /* A2 signed its own revocation; only a planted mistake uses this */
unsigned consents : 8;   /* roster heads that consents of C name */
unsigned withdrawn : 8;  /* roster heads of the consents that C has withdrawn */
unsigned replaced_by : 2; /* the account that opened a replacement, plus 1 */
unsigned invited : 3;    /* the accounts in it */
unsigned over : 1;       /* `settle` was tried */

/* Set once, when the search starts. */
byte world;
byte most;               /* number of entries without those of `settle` */
byte chosen;             /* the planted mistake; 0: none */
byte withholds;          /* whether the server loses answers, withholds envelopes and connections */

/* Marks a line that some run must reach. Spin lists the lines that no run reached. */
bit reached = 1;
#define mark reached = 1

#define NEW (stored - 1)
#define HEAD entry[dev[me].known]
#define OPENED entry[HEAD.opened]
#define head_of(d) entry[dev[d].known]
#define epoch_of(d) entry[head_of(d).opened]
#define extends(later, earlier) has(entry[later].line, earlier)
#define length(e) \
  (has(entry[e].line, 0) + has(entry[e].line, 1) + has(entry[e].line, 2) + has(entry[e].line, 3) + \
   has(entry[e].line, 4) + has(entry[e].line, 5) + has(entry[e].line, 6) + has(entry[e].line, 7))

/* ---- Key logs ---- */

#define exists(d) \
  (d <= C1 || (d == A2 && world == REVOCATION) || \
   (d == C2 && log_c >= 1 && first != SIGN_OUT) || (d == C3 && log_c == 2))

/* Whether the device has left its key log. */
#define is_out(d) \
  ((d == A2 && log_a == 1) || (d == C1 && log_c >= 1) || (d == C2 && log_c == 2))
#define is_in_use(d) (exists(d) && !is_out(d))

/* The newest place of its own log by which the device can sign. */
#define place_of(d) \
  (d == A1 -> dev[A1].log_a : (d == C2 -> 1 : (d == C3 -> 2 : 0)))
#define named_for(e, d) \
  (account(d) == A -> entry[e].named_a : (account(d) == C -> entry[e].named_c : 0))

/* Places and generations have equal numbers: each reset of C is one place. */
#define generation_of(d) (d == C2 -> 1 : (d == C3 -> 2 : 0))
#define generation_at(place) ((place) == 1 && first == SIGN_OUT -> 0 : (place))

/* Whether a generation may sign for the membership: the same one, or one reset with the key in
   force for it. */
#define is_linked(from, to) \
  ((from) == (to) || \
   ((from) == 0 && (to) == 1 && first == WITH_PAPER) || \
   ((from) == 0 && (to) == 2))

/* The devices of accounts by key logs up to these places. For C, only the generation of the
   membership counts. */
#define c_device(place) \
  ((place) == 0 -> bit(C1) : ((place) == 2 -> bit(C3) : (first == SIGN_OUT -> 0 : bit(C2))))
#define devices_of(accounts, a, c, seat_) \
  (((accounts) & OWNER_SET) | \
   (has(accounts, A) && (a) == 0 && world == REVOCATION -> bit(A2) : 0) | \
   (has(accounts, C) && is_linked(seat_, generation_at(c)) -> c_device(c) : 0))

/* Devices that must not have K, by these exits of accounts and these places of key logs. */
#define exits_of(gone_, a, c) \
  (((gone_) & OWNER_SET) | (has(gone_, A) -> bit(A2) : 0) | \
   (has(gone_, C) -> bit(C1) | bit(C2) | bit(C3) : 0) | \
   ((a) == 1 -> bit(A2) : 0) | ((c) >= 1 -> bit(C1) : 0) | ((c) == 2 -> bit(C2) : 0))

/* ---- The rules of a device, with the mistakes that may be planted in them ---- */

/* The generation of the membership of C. A row covers a place; it never changes the generation. */
#define seat_in(e) \
  (planted(ROWS_MOVE_THE_SEAT) && entry[e].row_c == log_c && log_c > entry[e].seat \
    -> entry[e].row_c : entry[e].seat)

#define may_link(from, to) \
  (is_linked(from, to) || planted(ANY_GENERATION_SIGNS) || \
   (planted(PAPER_LINKS_TO_ALL) && (to) == 2))

/* The lowest place of its log at which an account signs. A row does not raise it. */
#define lowest_place(e, d) \
  (planted(ROWS_RAISE_THE_LAST_PLACE) && account(d) == A && entry[e].row_a > entry[e].named_a \
    -> entry[e].row_a : named_for(e, d))

/* Whether other devices accept an entry of this device. */
#define may_sign(d) \
  (dev[d].known != NONE && \
   (has(head_of(d).members, account(d)) || planted(FORMER_MEMBER_SIGNS)) && \
   (place_of(d) >= lowest_place(dev[d].known, d) || planted(REVOKED_DEVICE_SIGNS)) && \
   (account(d) != C || may_link(seat_in(dev[d].known), generation_of(d))))
#define is_entitled(d) \
  (has(head_of(d).members, account(d)) && place_of(d) >= named_for(dev[d].known, d) && \
   (account(d) != C || is_linked(head_of(d).seat, generation_of(d))))

#define is_member(d) (dev[d].known != NONE && has(head_of(d).members, account(d)))

/* The devices to which K may be sealed, and those to which `me` seals it. */
#define listed_at(accounts, seat_) devices_of(accounts, dev[me].log_a, dev[me].log_c, seat_)
#define recipients(accounts, seat_) \
  (listed_at(accounts, seat_) | \
   (planted(SEALS_TO_UNCONFIRMED_KEYS) && has(accounts, C) -> c_device(dev[me].log_c) : 0))

/* Devices without an envelope to which `me` seals K. It seals to no device of an account while the
   row of that account names a place that `me` has not seen: the row may cover a revocation. */
#define is_row_known(d) \
  (planted(SEALS_BEYOND_A_ROW) || \
   ((account(d) != A || HEAD.row_a <= dev[me].log_a) && \
    (account(d) != C || HEAD.row_c <= dev[me].log_c)))
#define is_listed(d) \
  (has(recipients(HEAD.members, HEAD.seat), d) && is_row_known(d))

/* Newer entries: at first any entry with the account as a member, later those that follow the
   known one. */
#define follows(e) \
  (extends(e, dev[me].known) || (planted(ACCEPTS_LOWER) && extends(dev[me].known, e)) || \
   (planted(FOLLOWS_A_FORK) && !extends(dev[me].known, e)))
#define is_newer(e) \
  (dev[me].known == NONE -> has(entry[e].members, account(me)) : follows(e))

/* Entries older than the newest known one. All others are of another history. */
#define is_older(e) \
  (planted(TAKES_A_SHORT_BRANCH_FOR_A_ROLLBACK) -> \
    length(e) < length(dev[me].known) : extends(dev[me].known, e))

/* An entry waits until the device was shown the key logs up to the places that it names. A thief
   does not wait. */
#define names_unseen(e) \
  (!planted(TAKES_KEY_LOGS_ON_TRUST) && \
   ((me != A2 && entry[e].named_a > dev[me].log_a) || \
    (account(me) != C && entry[e].named_c > dev[me].log_c)))

/* The validity of an entry depends on the entries before it and on the places that it names. No
   clock, no newer place of a log and no row makes it invalid. */
#define is_refused(e) \
  ((planted(A_ROW_REFUSES_THE_ENTRY) && entry[e].row_a > dev[me].log_a) || \
   (planted(JUDGES_BY_THE_NEWEST_LOG) && entry[e].by == A2 && dev[me].log_a == 1) || \
   (planted(AN_OLD_CONSENT_REFUSES_THE_ENTRY) && me == B1 && has(entry[e].members, C) && \
    !has(entry[entry[e].prev].members, C)))

/* The place that an epoch covers: that of its row, if the row matches the log known here. */
#define covered_a(d) \
  (!planted(ROWS_ARE_IGNORED) && \
   ((head_of(d).row_a == 1 && dev[d].log_a == 1) || \
    (planted(ROWS_COUNT_UNCHECKED) && head_of(d).row_a != 0)) -> 1 : head_of(d).base_a)
#define covered_c(d) \
  (!planted(ROWS_ARE_IGNORED) && head_of(d).row_c <= dev[d].log_c && \
   head_of(d).row_c > head_of(d).base_c -> head_of(d).row_c : head_of(d).base_c)

/* Whether the connection is suspended by a revocation or a reset that the epoch does not cover. */
#define is_minded(d, one) (has(head_of(d).members, one) || planted(MINDS_FORMER_MEMBERS))
#define is_excused(d, one, named, log) \
  ((planted(MINDS_ITS_OWN_REVOCATIONS_ONLY) && account(d) != one) || \
   (planted(ANY_ENTRY_SETTLES_A_REVOCATION) && named >= log))
#define is_held(d) \
  ((is_minded(d, A) && dev[d].log_a > covered_a(d) && \
    !is_excused(d, A, head_of(d).named_a, dev[d].log_a) && \
    !(planted(TRUSTS_A_DEVICE_THAT_REVOKED_ITSELF) && by_itself && account(d) != A)) || \
   (is_minded(d, C) && dev[d].log_c > covered_c(d) && \
    !is_excused(d, C, head_of(d).named_c, dev[d].log_c) && \
    !(planted(LINKED_RESETS_HOLD_NOTHING) && is_linked(head_of(d).seat, dev[d].log_c))))
#define is_due(d) (head_of(d).pending || is_held(d))

/* C stores the consents that it withdrew, and leaves if one of them was used to add it. */
#define is_unwilling(d) \
  (account(d) == C && has(head_of(d).members, C) && has(withdrawn, head_of(d).consent))

/* Whether words of this minute can be verified; if so, the right ones verify. */
#define verifies(d) \
  (is_member(d) && !dev[d].forked && dev[d].k != NO_K && \
   (!head_of(d).ended || planted(VERIFIES_AFTER_THE_END)) && \
   (!is_due(d) || planted(VERIFIES_WHILE_DUE)) && \
   (account(d) != C || may_link(seat_in(dev[d].known), generation_of(d))) && \
   (!is_unwilling(d) || planted(STAYS_WHERE_IT_WITHDREW)))

/* Consents by which C can be added now: they name an entry of this history, at or after C's last
   exit. */
#define fresh_consents (consents & HEAD.line & ~(bit(HEAD.left) - 1))
#define usable_consents \
  (planted(CONSENT_UNCHECKED) -> 255 : \
    (planted(CONSENT_OUTLIVES_AN_EXIT) -> consents & HEAD.line : fresh_consents))

#define can_post \
  (stored < most && may_sign(me) && !dev[me].forked && \
   (!HEAD.ended || planted(ENTRIES_AFTER_THE_END)))
#define is_owner (has(OWNER_SET & HEAD.members, account(me)))
#define can_add \
  (is_owner && dev[me].k == RIGHT_K && !has(HEAD.members, C) && \
   (!HEAD.pending || planted(ADDS_WHILE_A_ROTATION_IS_PENDING)) && \
   (world != CONSENT || usable_consents != 0))
#define leaves_an_owner \
  (is_within(OWNER_SET & HEAD.members, bit(account(me))) == 0 || planted(THE_LAST_OWNER_LEAVES))
#define can_confirm \
  (is_owner && has(HEAD.members, C) && generation_at(dev[me].log_c) > seat_in(dev[me].known))

/* A device joins the replacement of a forked connection if the opener is an owner in the
   device's branch. */
#define opener (replaced_by - 1)
#define is_owned_by_opener has(OWNER_SET & HEAD.members, opener)
#define can_join \
  ((dev[me].forked || planted(JOINS_WITHOUT_EVIDENCE)) && \
   (is_owned_by_opener || planted(JOINS_ANY_REPLACEMENT)))

/* The opener invites the members of its branch, except those that left in the other history that it
   has. A device that joins suspends the replacement while it has a member that left here. */
#define to_invite (HEAD.members & ~(planted(INVITES_WHO_WENT) -> 0 : dev[me].went))
#define has_returned(d) ((invited & head_of(d).gone) != 0)
#define verifies_there(d) \
  (dev[d].joined && (!has_returned(d) || planted(FOLLOWS_WITH_WHO_WENT)))

/* ---- The properties that must hold, by the names that a search prints ---- */

bit no_outsider_signs_or_gets_K = 1;
bit no_exit_knows_the_K_that_verifies = 1;
bit equal_heads_mean_equal_K = 1;
bit K_is_sealed_to_listed_devices_only = 1;
bit places_only_go_forward = 1;
bit equal_entries_mean_equal_heads = 1;
bit epochs_have_their_envelopes = 1;
bit a_fork_is_for_good = 1;
bit nobody_is_added_while_a_rotation_is_pending = 1;
bit nobody_is_seated_without_consent = 1;
bit nobody_stays_who_withdrew = 1;
bit nothing_follows_an_end = 1;
bit only_an_owner_replaces = 1;
bit nobody_comes_back_by_a_fork = 1;
bit there_is_a_way_out = 1;

/* The search does not continue from a state with a broken promise, and names only one there. */
#define promise(name, holds) \
  name = over || (holds); \
  if \
  :: !name -> over = 1 \
  :: else \
  fi; \
  assert(name)

/* ---- Steps ---- */

inline keep(newest) {
  promise(places_only_go_forward, dev[me].highest == NONE || extends(newest, dev[me].highest));
  dev[me].highest = newest;
  dev[me].saw = dev[me].saw | entry[newest].line;
  if
  :: dev[me].known == NONE || entry[newest].opened != HEAD.opened -> dev[me].k = NO_K
  :: else
  fi;
  dev[me].known = newest;
  if
  :: !is_member(me) -> dev[me].k = NO_K
  :: else
  fi
}

#define opens(op) \
  ((op == REMOVE && !planted(REMOVAL_KEEPS_THE_EPOCH)) || op == ROTATE || op >= LIE_TO_A1 || \
   (op == CONFIRM && !planted(CONFIRM_KEEPS_THE_EPOCH)))

/*
 * `me` signs an entry after its newest known one: `op`, for the account `who`.
 * The POST is one transaction, with the envelopes. Called in a d_step.
 */
inline post() {
  promise(no_outsider_signs_or_gets_K, is_entitled(me));
  promise(nothing_follows_an_end, !HEAD.ended);
  if
  :: op == ADD ->
     promise(nobody_is_added_while_a_rotation_is_pending, !HEAD.pending);
     promise(nobody_is_seated_without_consent, world != CONSENT || fresh_consents != 0)
  :: else
  fi;
  stored++;
  entry[NEW].line = HEAD.line | bit(NEW);
  entry[NEW].prev = dev[me].known;
  entry[NEW].by = (planted(JUDGES_BY_THE_NEWEST_LOG) -> me : 0);
  entry[NEW].members =
    (op == ADD -> HEAD.members | bit(C) :
      (op == REMOVE || op == LEAVE -> HEAD.members & ~bit(who) : HEAD.members));
  entry[NEW].gone = (HEAD.gone | HEAD.members) & ~entry[NEW].members;
  entry[NEW].ended = HEAD.ended || op == END;
  entry[NEW].consent = HEAD.consent;
  entry[NEW].left = HEAD.left;
  entry[NEW].seat = seat_in(dev[me].known);
  entry[NEW].named_a = HEAD.named_a;
  entry[NEW].named_c = HEAD.named_c;
  if
  :: account(me) == A && place_of(me) > HEAD.named_a -> entry[NEW].named_a = place_of(me)
  :: account(me) == C ->
     entry[NEW].seat = generation_of(me);
     entry[NEW].named_c = (place_of(me) > HEAD.named_c -> place_of(me) : HEAD.named_c)
  :: else
  fi;
  if
  :: op == ADD || op == CONFIRM ->
     entry[NEW].seat = generation_at(dev[me].log_c);
     entry[NEW].named_c = dev[me].log_c
  :: else
  fi;
  if
  :: world == CONSENT && op == ADD ->
     i = SLOTS - 1;
     do
     :: !has(usable_consents, i) -> i--
     :: else -> break
     od;
     entry[NEW].consent = (planted(CONSENT_UNCHECKED) -> 0 : i);
     i = 0
  :: world == CONSENT && (op == REMOVE || op == LEAVE) -> entry[NEW].left = NEW
  :: else
  fi;
  if
  :: opens(op) ->
     entry[NEW].opened = NEW;
     entry[NEW].pending =
       !has(entry[NEW].members, account(me)) && !planted(TRUSTS_WHO_REMOVED_ITSELF);
     entry[NEW].base_a = entry[NEW].named_a;
     entry[NEW].base_c = entry[NEW].named_c;
     entry[NEW].row_a =
       (op == LIE_IN_A_ROW -> NO_SUCH_PLACE :
         (has(entry[NEW].members, A) && account(me) != A && dev[me].log_a > HEAD.named_a -> 1 : 0));
     entry[NEW].row_c =
       (has(entry[NEW].members, C) && dev[me].log_c > entry[NEW].named_c && account(me) != C
         -> dev[me].log_c : 0);
     entry[NEW].sealed = bit(me) |
       recipients((planted(SEALS_BY_THE_OLD_LIST) -> HEAD.members : entry[NEW].members),
                  entry[NEW].seat);
     entry[NEW].wrong = (op == LIE_TO_A1 -> bit(A1) : (op == LIE_TO_B1 -> bit(B1) : 0));
     promise(K_is_sealed_to_listed_devices_only,
       is_within(entry[NEW].sealed & ~bit(me), listed_at(entry[NEW].members, entry[NEW].seat)));
     promise(no_outsider_signs_or_gets_K,
       (entry[NEW].sealed & ~bit(me) &
        exits_of(entry[NEW].gone, entry[NEW].named_a, entry[NEW].named_c)) == 0);
     entry[NEW].sealed = entry[NEW].sealed & ~entry[NEW].wrong;
     if
     :: planted(TWO_POSTS) -> entry[NEW].sealed = 0 /* the device dies between the two */
     :: else
     fi;
     promise(epochs_have_their_envelopes, has(entry[NEW].sealed, me))
  :: else ->
     entry[NEW].opened = HEAD.opened;
     entry[NEW].pending = HEAD.pending || op == LEAVE;
     entry[NEW].base_a = HEAD.base_a;
     entry[NEW].row_a = HEAD.row_a;
     entry[NEW].base_c = (op == ADD || op == CONFIRM -> entry[NEW].named_c : HEAD.base_c);
     entry[NEW].row_c = (op == ADD || op == CONFIRM -> 0 : HEAD.row_c);
     entry[NEW].went = HEAD.went || (has(HEAD.members, C) && !has(entry[NEW].members, C));
     if
     :: op == ADD ->
        OPENED.admitted = 1;
        OPENED.sealed = OPENED.sealed | recipients(bit(C), entry[NEW].seat)
     :: else
     fi
  fi
}

/* Records the entries shown to a device that may already have a history. */
#define lowest(set) ((set) & -(set))
#define only_in(e, other) (entry[e].line & ~entry[other].line)
inline see(e) {
  if
  :: dev[me].known == NONE || extends(dev[me].known, e) -> skip
  :: extends(e, dev[me].known) -> dev[me].saw = dev[me].saw | entry[e].line
  :: else -> dev[me].saw = lowest(only_in(e, dev[me].known)) | lowest(only_in(dev[me].known, e))
  fi
}

/* The server returns an envelope, or withholds it. */
inline open_envelope() {
  if
  :: is_member(me) && dev[me].k == NO_K && has(OPENED.sealed, me) -> dev[me].k = RIGHT_K
  :: is_member(me) && dev[me].k == NO_K && ((me <= B1 && has(OPENED.wrong, me)) || raced) ->
     mark; /* it does not match the commitment: refused */
     dev[me].k = (planted(COMMITMENT_UNCHECKED) || raced -> ANOTHER_K : NO_K)
  :: withholds -> mark
  :: else
  fi
}

inline sync() {
  if
  :: names_unseen(shown) -> mark /* the shown key log is too short: refused */
  :: else ->
     d_step {
       raced = planted(KEEPS_THE_K_OF_A_LOST_RACE) && dev[me].known != NONE &&
         entry[shown].opened != HEAD.opened && entry[entry[shown].opened].prev == dev[me].known;
       see(shown)
     };
     if
     :: is_newer(shown) && !is_refused(shown) -> d_step { keep(shown) }; open_envelope()
     :: (is_newer(shown) -> is_refused(shown) : dev[me].known == NONE) ->
        mark /* this account is not a member: not accepted */
     :: !is_newer(shown) && dev[me].known != NONE && is_older(shown) ->
        mark /* rolled back: refused */
     :: else ->
        mark; /* two valid successors of one entry */
        d_step {
          dev[me].forked = 1;
          dev[me].went = (world == REPLACEMENT -> entry[shown].gone : 0);
          dev[me].k = NO_K;
          dev[me].log_a = 0;
          if
          :: account(me) != C -> dev[me].log_c = 0
          :: else
          fi
        }
     fi
  fi
}

/* The device gets the answer that its entry was stored, or finds the entry later, like one of
   another device. */
inline hear() {
  if
  :: d_step {
       keep(NEW);
       if
       :: opens(op) && is_member(me) -> dev[me].k = RIGHT_K
       :: else
       fi
     }
  :: withholds -> mark
  fi
}

/* ---- Checks of every state ---- */

/* C may have K if it was added again after the exit that the device knows. */
#define gone_for(d) \
  (epoch_of(d).admitted && !head_of(d).went -> head_of(d).gone & ~bit(C) : head_of(d).gone)

#define is_one_line(set) \
  (is_within(set, entry[0].line) || is_within(set, entry[1].line) || \
   is_within(set, entry[2].line) || is_within(set, entry[3].line) || \
   is_within(set, entry[4].line) || is_within(set, entry[5].line) || \
   is_within(set, entry[6].line) || is_within(set, entry[7].line))

inline look_at(d) {
  if
  :: verifies(d) ->
     if
     :: dev[d].k == RIGHT_K ->
        promise(no_exit_knows_the_K_that_verifies,
          (epoch_of(d).sealed & exits_of(gone_for(d), dev[d].log_a, dev[d].log_c)) == 0)
     :: else
     fi;
     promise(a_fork_is_for_good, is_one_line(dev[d].saw));
     promise(nothing_follows_an_end, !head_of(d).ended);
     promise(nobody_stays_who_withdrew, !is_unwilling(d))
  :: else
  fi;
  promise(equal_entries_mean_equal_heads,
    dev[d].known == NONE || dev[d].forked || !is_one_line(dev[d].saw) ||
    is_within(dev[d].saw, head_of(d).line));
  i = 0;
  do
  :: i < d ->
     promise(equal_heads_mean_equal_K,
       dev[i].k == NO_K || dev[d].k == NO_K || dev[i].k == dev[d].k ||
       head_of(i).opened != head_of(d).opened);
     i++
  :: else -> break
  od;
  i = 0
}

inline look() {
  do
  :: me < DEVICES ->
     if
     :: is_in_use(me) -> look_at(me)
     :: else
     fi;
     me++
  :: else -> break
  od;
  me = 0
}

#define agree(x, y) (verifies(x) && verifies(y) && head_of(x).opened == head_of(y).opened)
#define opened_late(d) (dev[d].known != NONE && head_of(d).opened != 0)
/*
 * From here on the server is honest, and every device in use does its pending work. Then every
 * member verifies, may leave (by signing an entry), or has an owner with a replacement to join.
 */
#define signer (is_member(A1) && may_sign(A1) -> A1 : B1)
#define c_in_use (log_c == 0 -> C1 : (log_c == 1 -> C2 : C3))
#define c_is_there (exists(c_in_use) && has(entry[NEW].members, C))
#define is_c_seated may_link(seat_in(NEW), generation_of(c_in_use))
inline everybody_hears() {
  i = 0;
  do
  :: i < DEVICES ->
     if
     :: is_in_use(i) && (dev[i].known != NONE || has(entry[NEW].members, account(i))) ->
        dev[i].known = NEW;
        dev[i].log_a = log_a;
        dev[i].log_c = log_c
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0
}
inline is_all_right(d) {
  if
  :: is_in_use(d) && is_member(d) ->
     promise(there_is_a_way_out, may_sign(d) && !is_due(d))
  :: else
  fi
}
inline settle() {
  if
  :: entry[NEW].line != bit(stored) - 1 ->
     do
     :: i < DEVICES ->
        if
        :: is_in_use(i) && dev[i].known != NONE ->
           promise(there_is_a_way_out, (head_of(i).members & OWNER_SET) != 0)
        :: else
        fi;
        i++
     :: else -> break
     od;
     i = 0
  :: entry[NEW].line == bit(stored) - 1 && !entry[NEW].ended ->
     everybody_hears();
     do
     :: stored < most + 2 && over == 0 ->
        op = 0;
        if
        :: c_is_there && is_c_seated && is_unwilling(c_in_use) && may_sign(c_in_use) &&
           !planted(STAYS_WHERE_IT_WITHDREW) ->
           me = c_in_use; who = C; op = LEAVE
        :: c_is_there && !is_c_seated && (entry[NEW].members & OWNER_SET) != 0 ->
           me = signer; op = CONFIRM
        :: else ->
           me = signer;
           if
           :: is_member(me) && is_due(me) -> op = ROTATE
           :: else -> break
           fi
        fi;
        if
        :: may_sign(me) -> post(); everybody_hears()
        :: else -> break
        fi
     :: else -> break
     od;
     if
     :: over == 0 ->
        is_all_right(A1);
        is_all_right(B1);
        is_all_right(c_in_use)
     :: else
     fi
  :: else
  fi
}

/* In some worlds A1 and B1 differ only in their views. Of two states that are equal after an
   exchange of A1 and B1, only one is stored. */
#define order(d) \
  ((((((dev[d].known << 2) | dev[d].log_c) << 2 | dev[d].k) << 1 | dev[d].forked) << 4 | \
    dev[d].highest) << 8 | dev[d].saw)
#define exchange(field) i = dev[A1].field; dev[A1].field = dev[B1].field; dev[B1].field = i
inline put_in_order() {
  if
  :: (world == RESET || world == CONSENT) && order(A1) < order(B1) ->
     exchange(known);
     exchange(k);
     exchange(log_c);
     exchange(forked);
     exchange(highest);
     exchange(saw);
     i = 0
  :: else
  fi
}

/* A state that some run must reach, see `mark`. */
#define witness(what) :: atomic { over == 0 && what -> mark }

c_decl {
\#include <stdlib.h>
\#include <string.h>
  static char before[1024]; /* the state, while `settle` is tried */
}

active proctype Connection() {
  byte me, op, who, shown, i;
  bit raced;

  d_step {
    /* MODEL="WORLD ENTRIES WITHHOLDS MISTAKE", all numbers */
    c_code {
      int w, n, h, m;
      char *text = getenv("MODEL");
      if (text == 0 || sscanf(text, "%d %d %d %d", &w, &n, &h, &m) != 4) exit(64);
      now.world = w; now.most = n; now.withholds = h; now.chosen = m;
    };
    entry[0].line = bit(0);
    entry[0].members =
      (world == ADMISSION || world == CONSENT -> bit(A) | bit(B) : bit(A) | bit(B) | bit(C));
    entry[0].sealed =
      (world == ADMISSION || world == CONSENT -> bit(A1) | bit(B1) : bit(A1) | bit(B1) | bit(C1));
    do
    :: i < DEVICES ->
       if
       :: i <= B1 || (i == C1 && has(entry[0].members, C)) || (i == A2 && world == REVOCATION) ->
          dev[i].k = RIGHT_K;
          dev[i].saw = bit(0);
          entry[0].sealed = entry[0].sealed | bit(i)
       :: else ->
          dev[i].known = NONE;
          dev[i].highest = NONE
       fi;
       i++
    :: else -> break
    od;
    i = 0
  };

  do
  :: d_step { over == 0 -> look() }

  :: d_step {
       over == 0 ->
       c_code { memcpy(before, &now, sizeof(State)); };
       settle();
       c_code { memcpy(&now, before, sizeof(State)); }
     }

  :: atomic {
       over == 0 ->
       if
       :: me = A1
       :: me = B1
       :: me = C1
       :: exists(A2) -> me = A2
       :: exists(C2) -> me = C2
       :: exists(C3) -> me = C3
       fi;
       if
       /* The server shows a history. */
       :: !dev[me].forked -> select(shown : 0 .. NEW); sync()

       /* The server shows key logs. */
       :: !dev[me].forked && dev[me].log_a < log_a && me != A2 -> dev[me].log_a = 1
       :: !dev[me].forked && dev[me].log_c < log_c && account(me) != C -> dev[me].log_c++

       /* Any member rotates, whether it is due or not. C may be dishonest. */
       :: can_post -> op = ROTATE
       :: can_post && me == C1 && world == ADMISSION -> op = LIE_TO_A1
       :: can_post && me == C1 && world == ADMISSION -> op = LIE_TO_B1
       :: can_post && me == C1 && world == REVOCATION -> op = LIE_IN_A_ROW

       /* An owner adds C, removes a member or itself, confirms C's new keys, or ends it all. */
       :: can_post && world != RESET && world < OWNERS && can_add -> who = C; op = ADD
       :: can_post && is_owner && has(HEAD.members, C) -> who = C; op = REMOVE
       :: can_post && is_owner && world >= OWNERS && leaves_an_owner ->
          who = account(me);
          op = REMOVE
       :: can_post && is_owner && world >= OWNERS && HEAD.members == 7 ->
          who = 1 - account(me);
          op = REMOVE
       :: can_post && world == RESET && can_confirm -> op = CONFIRM
       :: can_post && is_owner && world == OWNERS -> op = END

       /* A member leaves. */
       :: can_post && me == C1 && is_member(me) && (world == ADMISSION || world == CONSENT) ->
          who = C;
          op = LEAVE
       :: can_post && is_owner && world >= OWNERS && leaves_an_owner ->
          who = account(me);
          op = LEAVE

       /* The server lists a device as lacking an envelope. */
       :: is_member(me) && dev[me].k == RIGHT_K ->
          select(shown : 0 .. DEVICES - 1);
          if
          :: exists(shown) && !has(OPENED.sealed, shown) &&
             (planted(SEALS_UNCHECKED) || is_listed(shown)) ->
             d_step {
               promise(K_is_sealed_to_listed_devices_only,
                 has(listed_at(HEAD.members, HEAD.seat), shown));
               OPENED.sealed = OPENED.sealed | bit(shown)
             }
          :: else -> mark /* it has one, or is no device of a member: refused */
          fi

       /* The server omits the connection: the device deletes K, and keeps the seen history. */
       :: withholds && (dev[me].k != NO_K || dev[me].forked) ->
          dev[me].k = NO_K;
          dev[me].known = (planted(FORGETS_THE_ROSTER) -> NONE : dev[me].known);
          dev[me].forked = dev[me].forked && !planted(FORGETS_THE_FORK)

       /* A revokes A2, or A2 signs out, or a thief makes A2 sign out. */
       :: world == REVOCATION && me == A1 && log_a == 0 && !dev[A1].forked ->
          d_step { log_a = 1; dev[A1].log_a = 1 }
       :: world == REVOCATION && me == A2 && log_a == 0 ->
          d_step { log_a = 1; by_itself = planted(TRUSTS_A_DEVICE_THAT_REVOKED_ITSELF) }

       /* C's devices are replaced or removed, and a thief's reset is undone. */
       :: world == RESET && me == C1 && log_c == 0 ->
          if
          :: first = WITH_PAPER
          :: first = WITHOUT_PAPER
          :: first = SIGN_OUT
          fi;
          d_step { log_c = 1; dev[C2].log_c = 1 }
       :: world == RESET && me == C2 && log_c == 1 && first == WITHOUT_PAPER ->
          d_step { log_c = 2; dev[C3].log_c = 2 }

       /* C consents to an invitation, and withdraws the consent. */
       :: world == CONSENT && me == C1 && !is_member(C1) && !has(consents, NEW) ->
          consents = consents | bit(NEW)
       :: world == CONSENT && me == C1 && !is_within(consents, withdrawn) -> withdrawn = consents

       /* Any account opens a connection that replaces this one; members join it or do not. */
       :: world == REPLACEMENT && replaced_by == 0 && me <= C1 && dev[me].known != NONE ->
          d_step {
            replaced_by = me + 1;
            invited = to_invite;
            promise(nobody_comes_back_by_a_fork, (invited & (HEAD.gone | dev[me].went)) == 0)
          }
       :: world == REPLACEMENT && replaced_by != 0 && me <= C1 && !dev[me].joined &&
          dev[me].known != NONE && can_join ->
          d_step {
            promise(only_an_owner_replaces, dev[me].forked && is_owned_by_opener);
            dev[me].joined = 1;
            promise(nobody_comes_back_by_a_fork, !verifies_there(me) || !has_returned(me))
          }
       :: else
       fi;
       if
       :: op != 0 -> d_step { post() }; hear()
       :: else
       fi;
       d_step { me = 0; op = 0; who = 0; shown = 0; raced = 0; put_in_order() }
     }

  /* States that some run must reach. Otherwise a promise could hold because nothing happens. */
  /* C was added, and verifies; it was added again after an exit. */
  witness(world == ADMISSION && agree(A1, C1) && agree(B1, C1))
  witness(world == CONSENT && verifies(C1) && head_of(C1).left != 0 && head_of(C1).consent != 0)
  /* A member left, the others know that a rotation is due, and verify after the rotation. */
  witness(world == ADMISSION && is_member(B1) && head_of(B1).pending && dev[B1].k == RIGHT_K)
  witness(world == OWNERS && agree(A1, C1) && !has(head_of(C1).members, B) &&
          entry[1].pending && opened_late(C1))
  /* A2 had K and was revoked or signed out: suspended, then covered by A's entry or by a row. */
  witness(is_member(B1) && is_held(B1) && dev[B1].log_a == 1 && has(epoch_of(B1).sealed, A2))
  witness(agree(A1, B1) && dev[B1].log_a == 1 && head_of(B1).row_a == 0 && opened_late(B1))
  witness(agree(A1, B1) && dev[B1].log_a == 1 && head_of(B1).row_a == 1)
  /* Rows that match no log, and one beyond the log known here, delay nothing. */
  witness(verifies(A1) && head_of(A1).row_a == NO_SUCH_PLACE)
  witness(is_member(C1) && head_of(C1).row_a == 1 && dev[C1].log_a == 0 && verifies(C1))
  /* C reset with paper, and its new device signed; or without it, and an owner confirmed. */
  witness(agree(B1, C2) && first == WITH_PAPER && head_of(B1).seat == 1)
  witness(agree(B1, C2) && first == WITHOUT_PAPER && head_of(B1).seat == 1)
  /* The paper undid a thief's reset, before or after an owner confirmed the reset. */
  witness(agree(B1, C3) && head_of(B1).seat == 0)
  witness(is_member(B1) && head_of(B1).seat == 1 && dev[B1].log_c == 2 && verifies(B1))
  /* C's last device signed out, and a row covers that. */
  witness(agree(A1, B1) && first == SIGN_OUT && dev[A1].log_c == 1 && head_of(A1).row_c == 1)
  /* C withdrew, was added nevertheless, and left. */
  witness(world == CONSENT && entry[1].consent == 0 && has(withdrawn, 0) &&
          dev[C1].known == 2 && !is_member(C1) && entry[2].pending)
  /* Two have seen a fork, and the server hides it from the third. */
  witness(dev[A1].forked && dev[B1].forked && verifies(C1))
  /* An owner replaced the forked connection, and members of both branches joined. */
  witness(dev[B1].joined && dev[C1].joined && dev[B1].known != dev[C1].known)
  /* The opener did not invite a member that left in the other history. A device that joined
     suspends a replacement to which the opener, without knowledge of the exit, added C. And one
     device verifies there. */
  witness(replaced_by == B + 1 && has(head_of(B1).members, C) && !has(invited, C))
  witness(dev[A1].joined && has(invited & head_of(A1).gone, C))
  witness(verifies_there(A1) && replaced_by == B + 1)
  /* C sealed another K to B. B refused it and got the right one. */
  witness(verifies(B1) && has(epoch_of(B1).wrong, B1) && has(epoch_of(B1).sealed, B1))
  /* An owner ended the connection. */
  witness(is_member(C1) && head_of(C1).ended)
  od
}
