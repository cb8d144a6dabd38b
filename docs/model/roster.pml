/*
 * Rosters, envelopes and epochs (protocol, section 4) before a server that nobody trusts. README.md says what is left out.
 *
 * A1 and B1 are devices of members from the start; A is the owner. C1 is taken in, removed, leaves, comes back. A2 is a second
 * device of A's, which A1 may revoke, or which revokes itself: from then on it is in the hands of a thief, who keeps what it knew
 * and acts as if it had not heard.
 *
 * An entry of the roster is known by its number, as by a hash that nobody can make twice. Entry 0 opened the connection. To show a
 * device any stored entry, and all that it rests on, is everything that a server can do to a history: withhold, delay, repeat, roll
 * back, fork. Entries that no device would accept are never made here: they change nothing.
 */
#ifndef ENTRIES
#define ENTRIES 4 /* at most 7 */
#endif
#ifndef DEVICES
#define DEVICES 4 /* 3: without A2 */
#endif
#ifndef WITHHOLDS
#define WITHHOLDS 1 /* whether the server withholds envelopes and whole connections */
#endif

#define A1 0
#define B1 1
#define C1 2
#define A2 3
#define NONE 255 /* the newest entry of a device that has seen none */

/* Sets are bits; accounts A, B, C have those of A1, B1, C1. */
#define bit(x) (1 << (x))
#define has(set, x) (((set) >> (x)) & 1)
#define is_within(some, all) (((some) & ~(all)) == 0)
#define account(device) (device == A2 -> A1 : device)

typedef Entry {
  byte line;     /* set of entries: this one and all before it */
  byte prev;     /* the one before it */
  byte opened;   /* the entry that opened its epoch */
  byte members;  /* set of accounts */
  byte lately;   /* those who were members at any time in this epoch */
  bit pending;   /* one of them is gone, and may have K */
  bit log;       /* actor_log: whether an entry of A's named the place where its key log revokes A2 */

  /* Where the entry opens an epoch, of its K: */
  byte admitted; /* set of accounts: members at any time in any history of this epoch */
  byte wanted;   /* set of devices: those to which its signer had to seal it */
  byte sealed;   /* those for which the server has it in an envelope */
  byte wrong     /* those for which a dishonest signer sealed another one */
}

typedef View {
  byte known;    /* the newest entry that the device has seen and kept */
  byte k;        /* the K that it keeps, always one of the current epoch; 0: none */
  byte highest;  /* no part of the device: the newest entry that it ever kept */
  bit log;       /* whether it has seen that A2 is revoked */
  bit forked;    /* it has seen two valid histories, and uses none of them any more */
  byte saw       /* no part of the device: set of entries that it kept or was shown beside those; of two histories, the first two that differ */
}

Entry entry[ENTRIES];
View dev[DEVICES];
byte stored = 1; /* entries that the server has */
bit revoked;     /* the key log of A revokes A2 */
#ifdef TRUSTS_A_DEVICE_THAT_REVOKED_ITSELF
bit by_itself;   /* A2 signed that; nothing else asks who did */
#endif
byte shown;      /* what the server picked in the step under way */

/* A line that some run must come through: Spin lists those that it did not. */
bit seen = 1;
#define mark seen = 1

#define NEW (stored - 1)
#define HEAD entry[dev[me].known]
#define OPENED HEAD.opened
#define K(e) ((e) + 1)
#define ANOTHER_K(e) (128 + (e))

#define head_of(d) entry[dev[d].known]
#define epoch_of(d) entry[head_of(d).opened]
#define is_member(d) (dev[d].known != NONE && has(head_of(d).members, account(d)))
#define extends(later, earlier) has(entry[later].line, earlier)

/* How many entries a history has. */
#define length(e) \
  (has(entry[e].line, 0) + has(entry[e].line, 1) + has(entry[e].line, 2) + has(entry[e].line, 3) + \
   has(entry[e].line, 4) + has(entry[e].line, 5) + has(entry[e].line, 6))

/* The devices of accounts that are active in a key log of A's which goes this far. */
#define devices_of(accounts, log) \
  ((accounts) | (DEVICES == 4 && has(accounts, A1) && !(log) -> bit(A2) : 0))

/* ---- The rules that a device keeps, and the mistakes that may be planted in them ---- */

/* Whose entries the others accept: those of members, by devices that are not revoked at the highest actor_log named so far. */
#if defined(FORMER_MEMBER_SIGNS)
#define may_sign(d) (dev[d].known != NONE && !(d == A2 && head_of(d).log))
#elif defined(REVOKED_DEVICE_SIGNS)
#define may_sign(d) (is_member(d))
#else
#define may_sign(d) (is_member(d) && !(d == A2 && head_of(d).log))
#endif

/* To whom the K of a new epoch is sealed: the members after the entry. */
#ifdef SEALS_BY_THE_OLD_LIST
#define recipients(after) devices_of(HEAD.members, dev[me].log)
#else
#define recipients(after) devices_of(after, dev[me].log)
#endif

/* Whether K is sealed to a device of which the server says that it has none. */
#ifdef SEALS_UNCHECKED
#define is_listed(d) true
#else
#define is_listed(d) has(devices_of(HEAD.members, dev[me].log), d)
#endif

/* Which entries are taken for the newest: at first sight any that names the account, then those that rest on the newest known. */
#if defined(ACCEPTS_LOWER)
#define follows(e) (extends(e, dev[me].known) || extends(dev[me].known, e))
#elif defined(FOLLOWS_A_FORK)
#define follows(e) (extends(e, dev[me].known) || !extends(dev[me].known, e))
#else
#define follows(e) extends(e, dev[me].known)
#endif
#define is_newer(e) (dev[me].known == NONE -> has(entry[e].members, account(me)) : follows(e))

/* Which entries that are not newer are an older part of the history that the device knows. All others are of another history. */
#ifdef TAKES_A_SHORT_BRANCH_FOR_A_ROLLBACK
#define is_older(e) (length(e) < length(dev[me].known))
#else
#define is_older(e) extends(dev[me].known, e)
#endif

/* Whether an entry waits until the key log of its signer was shown as far as the entry names it. */
#ifdef TAKES_KEY_LOGS_ON_TRUST
#define names_unseen(e) false
#else
#define names_unseen(e) (entry[e].log > dev[me].log && me != A2)
#endif

/* What is left of a connection that the server's list leaves out. */
#if defined(FORGETS_THE_ROSTER)
#define known_after_all NONE
#else
#define known_after_all dev[me].known
#endif
#if defined(FORGETS_THE_FORK)
#define forked_after_all 0
#else
#define forked_after_all dev[me].forked
#endif

/* Whether somebody may be taken in now. */
#ifdef ADDS_WHILE_A_ROTATION_IS_PENDING
#define may_add true
#else
#define may_add (!HEAD.pending)
#endif

/* What an owner's removal does. */
#ifdef REMOVAL_KEEPS_THE_EPOCH
#define REMOVAL_OPENS false
#else
#define REMOVAL_OPENS true
#endif

/* What the removal of oneself leaves: whoever signs it has made the new K. */
#ifdef TRUSTS_WHO_REMOVED_ITSELF
#define is_gone(d, after) false
#else
#define is_gone(d, after) !has(after, account(d))
#endif

/* Why nothing verifies: somebody left, or an account revoked a device after the place of its log that the opening entry rests on. */
#define has_revoked(d) (dev[d].log > epoch_of(d).log)
#if defined(VERIFIES_WHILE_DUE)
#define is_due(d) false
#elif defined(MINDS_ITS_OWN_REVOCATIONS_ONLY)
#define is_due(d) (head_of(d).pending || (account(d) == A1 && has_revoked(d)))
#elif defined(TRUSTS_A_DEVICE_THAT_REVOKED_ITSELF)
#define is_due(d) (head_of(d).pending || (has_revoked(d) && (account(d) == A1 || !by_itself)))
#elif defined(ANY_ENTRY_SETTLES_A_REVOCATION)
#define is_due(d) (head_of(d).pending || dev[d].log > head_of(d).log)
#else
#define is_due(d) (head_of(d).pending || has_revoked(d))
#endif

/* Whether words of this minute can be verified: the right ones will be. */
#define verifies(d) (is_member(d) && dev[d].k != 0 && !is_due(d))

/* ---- What must hold, by the names that a counterexample shows ---- */

bit no_former_member_holds_a_later_K = 1;
bit nothing_verifies_while_a_rotation_is_due = 1;
bit equal_heads_mean_equal_K = 1;
bit K_is_sealed_to_listed_devices_only = 1;
bit places_only_go_forward = 1;
bit epochs_have_their_envelopes = 1;
bit a_fork_is_for_good = 1;
bit nobody_is_added_while_a_rotation_is_pending = 1;

/* Before K is sealed, by what this device knows. (Whoever makes a K has it without an envelope.) */
inline check_seal(to, accounts) {
  K_is_sealed_to_listed_devices_only =
    is_within((to) & ~bit(me), devices_of((accounts), dev[me].log));
  assert(K_is_sealed_to_listed_devices_only)
}

/* ---- Steps ---- */

inline keep(newest) {
  places_only_go_forward = dev[me].highest == NONE || extends(newest, dev[me].highest);
  assert(places_only_go_forward);
  dev[me].highest = newest;
  dev[me].saw = dev[me].saw | entry[newest].line;
  if
  :: dev[me].known == NONE || entry[newest].opened != OPENED -> dev[me].k = 0
  :: else
  fi;
  dev[me].known = newest;
  if
  :: !is_member(me) -> dev[me].k = 0
  :: else
  fi
}

/*
 * A new entry upon the newest one that the device knows. The POST is one transaction, done whole or not at all: a device or a server
 * that dies before it changes nothing; if one dies after it, or the answer is lost, the entry is there with its envelopes.
 */
inline post(after, is_opening, is_leaving) {
  d_step {
    stored++;
    entry[NEW].line = HEAD.line | bit(NEW);
    entry[NEW].prev = dev[me].known;
    entry[NEW].members = after;
    entry[NEW].log = HEAD.log || (account(me) == A1 && dev[me].log);
    if
    :: is_opening ->
       entry[NEW].opened = NEW;
       entry[NEW].lately = after | (HEAD.members & bit(account(me)));
       entry[NEW].admitted = entry[NEW].lately;
       entry[NEW].pending = is_gone(me, after);
       entry[NEW].wanted = recipients(after) | bit(me);
       check_seal(entry[NEW].wanted, after)
    :: else ->
       entry[NEW].opened = OPENED;
       entry[NEW].lately = HEAD.lately | after;
       entry[NEW].pending = HEAD.pending || is_leaving;
       entry[OPENED].admitted = entry[OPENED].admitted | after
    fi
  };
#ifdef TWO_POSTS
  if
  :: entry[NEW].sealed = entry[NEW].wanted
  :: mark /* dead between the two */
  fi
#else
  entry[NEW].sealed = entry[NEW].wanted
#endif
}

/* The device hears that it was done; or it does not, and finds its entry later like anybody else's, with an envelope for itself. */
inline hear(is_opening) {
  if
  :: d_step {
       keep(NEW);
       if
       :: is_opening && is_member(me) -> dev[me].k = K(NEW)
       :: else
       fi
     }
  :: mark
  fi
}

/* An envelope is there, or the server withholds it. */
inline open_envelope() {
  if
  :: is_member(me) && has(entry[OPENED].sealed, me) -> dev[me].k = K(OPENED)
#ifdef COMMITMENT_UNCHECKED
  :: is_member(me) && has(entry[OPENED].wrong, me) -> dev[me].k = ANOTHER_K(OPENED)
#else
  :: is_member(me) && has(entry[OPENED].wrong, me) -> mark /* it does not match the commitment: refused */
#endif
  :: WITHHOLDS -> mark
  :: else
  fi
}

/* What a device that knows a history is shown. Of all that it saw, as few entries are kept as show whether that is one history. */
#define lowest(set) ((set) & -(set))
#define only_in(e, other) (entry[e].line & ~entry[other].line)
inline see(e) {
  if
  :: dev[me].known == NONE || extends(dev[me].known, e) -> skip
  :: extends(e, dev[me].known) -> dev[me].saw = dev[me].saw | entry[e].line
  :: else -> dev[me].saw = lowest(only_in(e, dev[me].known)) | lowest(only_in(dev[me].known, e))
  fi
}

inline sync() {
  if
  :: revoked && !dev[me].log && me != A2 -> dev[me].log = 1
  :: skip
  fi;
  select(shown : 0 .. NEW);
  if
  :: names_unseen(shown) -> mark /* the key log that was shown does not go as far: refused */
  :: else ->
     see(shown);
     if
     :: is_newer(shown) -> d_step { keep(shown) }; open_envelope()
     :: else ->
        if
        :: dev[me].known == NONE -> mark /* others are in it, not this account: nothing to it */
        :: dev[me].known != NONE && is_older(shown) -> mark /* rolled back: refused */
        :: else ->
           mark; /* two valid successors of one entry: what the device knew is of no use any more */
           d_step {
             dev[me].forked = 1;
             dev[me].known = NONE;
             dev[me].highest = NONE;
             dev[me].log = 0;
             dev[me].k = 0
           }
        fi
     fi
  fi;
  shown = 0
}

#define can_post (stored < ENTRIES && may_sign(me))
#define holds_k (dev[me].k == K(OPENED))

proctype Device(byte me) {
  do
  :: atomic { !dev[me].forked -> sync() }

  :: atomic { /* An owner takes C in. */
       can_post && account(me) == A1 && holds_k && may_add && !has(HEAD.members, C1) ->
       post(HEAD.members | bit(C1), false, false);
       d_step {
         check_seal(bit(C1), HEAD.members | bit(C1));
         entry[OPENED].sealed = entry[OPENED].sealed | bit(C1)
       };
       hear(false)
     }

  :: atomic { /* An owner removes C; C may be one, and remove itself. */
       can_post && (account(me) == A1 || me == C1) && has(HEAD.members, C1) ->
       post(HEAD.members & ~bit(C1), REMOVAL_OPENS, false);
       hear(REMOVAL_OPENS)
     }

  :: atomic { /* Any member rotates, whether it is due or not. C may be dishonest, and seal another K to one of the others. */
       can_post ->
       post(HEAD.members, true, false);
       if
       :: me == C1 -> entry[NEW].sealed = entry[NEW].sealed & ~bit(A1); entry[NEW].wrong = bit(A1)
       :: me == C1 -> entry[NEW].sealed = entry[NEW].sealed & ~bit(B1); entry[NEW].wrong = bit(B1)
       :: skip
       fi;
       hear(true)
     }

  :: atomic { /* C leaves. */
       can_post && me == C1 && is_member(me) ->
       post(HEAD.members & ~bit(C1), false, true);
       hear(false)
     }

  :: atomic { /* The server says that some device has no envelope. */
       is_member(me) && holds_k ->
       select(shown : 0 .. DEVICES - 1);
       if
       :: is_listed(shown) ->
          d_step {
            check_seal(bit(shown), HEAD.members);
            entry[OPENED].sealed = entry[OPENED].sealed | bit(shown)
          }
       :: else -> mark /* it is no device of a member: refused */
       fi;
       shown = 0
     }

  :: atomic { /* The server's list leaves the connection out: the device drops the secret, and keeps what it has seen. */
       WITHHOLDS && (dev[me].k != 0 || dev[me].forked) ->
       dev[me].k = 0;
       dev[me].known = known_after_all;
       dev[me].forked = forked_after_all
     }

  :: atomic { /* A revokes its second device. */
       DEVICES == 4 && me == A1 && !revoked && !dev[me].forked ->
       revoked = 1;
       dev[me].log = 1
     }

  :: atomic { /* A2 signs out, or whoever stole it has it do so and keeps what it knew. */
       me == A2 && !revoked && !dev[me].forked ->
#ifdef TRUSTS_A_DEVICE_THAT_REVOKED_ITSELF
       by_itself = 1;
#endif
       revoked = 1
     }
  od
}

/* ---- Looks at every state ---- */

active proctype Promises() {
  byte e, d, i;
  do
  :: d_step {
       do
       :: e < stored ->
          no_former_member_holds_a_later_K =
            is_within(entry[e].sealed, devices_of(entry[e].admitted, entry[e].log));
          assert(no_former_member_holds_a_later_K);
          epochs_have_their_envelopes = is_within(entry[e].wanted, entry[e].sealed | entry[e].wrong);
          assert(epochs_have_their_envelopes);
          nobody_is_added_while_a_rotation_is_pending =
            is_within(entry[e].members, entry[entry[e].prev].members) ||
            !entry[entry[e].prev].pending;
          assert(nobody_is_added_while_a_rotation_is_pending);
          e++
       :: else -> break
       od;
       do
       :: d < DEVICES ->
          if
          :: verifies(d) ->
             /* Everybody who was in this epoch still is, and it rests on key logs that revoke whatever this device knows to be. */
             nothing_verifies_while_a_rotation_is_due =
               head_of(d).lately == head_of(d).members && dev[d].log <= epoch_of(d).log;
             assert(nothing_verifies_while_a_rotation_is_due);
             /* All that it saw is in the history of one entry. */
             a_fork_is_for_good = 0;
             i = 0;
             do
             :: i < stored -> a_fork_is_for_good = a_fork_is_for_good || is_within(dev[d].saw, entry[i].line); i++
             :: else -> break
             od;
             assert(a_fork_is_for_good)
          :: else
          fi;
          i = 0;
          do
          :: i < d ->
             if
             :: dev[i].k != 0 && dev[d].k != 0 && head_of(i).opened == head_of(d).opened ->
                equal_heads_mean_equal_K = dev[i].k == dev[d].k;
                assert(equal_heads_mean_equal_K)
             :: else
             fi;
             i++
          :: else -> break
          od;
          d++
       :: else -> break
       od;
       e = 0;
       d = 0;
       i = 0
     }
  od
}

/* ---- What must happen in some run, or the promises would be kept for want of anything to keep ---- */

#define agree(x, y) (verifies(x) && verifies(y) && head_of(x).opened == head_of(y).opened)
#define has_seen(d, e) (dev[d].known != NONE && has(head_of(d).line, e))
#define had_C(e) has(entry[e].members, C1)
#define leaves_epoch(e, epoch) (entry[e].pending && entry[e].opened == epoch)

active proctype Witnesses() {
  do
  /* C was taken in, and all verify each other. */
  :: atomic { agree(A1, C1) && agree(B1, C1) -> mark }

  /* A removed C, and the others verify each other in the new epoch. */
  :: atomic { agree(A1, B1) && has_seen(B1, 2) && had_C(1) && !had_C(2) && head_of(B1).opened == 2 -> mark }

  /* C left, and B, who has K, knows that a rotation is due; somebody signed it, and the others verify each other. */
  :: atomic { has_seen(B1, 2) && had_C(1) && leaves_epoch(2, 0) && dev[B1].k != 0 -> mark }
  :: atomic { agree(A1, B1) && has_seen(B1, 3) && leaves_epoch(2, 0) && head_of(B1).opened == 3 -> mark }

  /* The same after C removed itself. */
  :: atomic { agree(A1, B1) && has_seen(B1, 3) && leaves_epoch(2, 2) && head_of(B1).opened == 3 -> mark }

  /* C was removed, taken in again, and verifies. */
  :: atomic { verifies(C1) && has_seen(C1, 3) && had_C(1) && !had_C(2) && has(entry[3].line, 2) -> mark }

  /* A second device got K from another. */
  :: atomic { DEVICES == 4 && agree(A2, B1) -> mark }

  /* It had K and was revoked, and B knows that a rotation is due; A signed it, and the others verify each other. */
  :: atomic { is_member(B1) && dev[B1].k != 0 && has_revoked(B1) && has(epoch_of(B1).sealed, A2) -> mark }
  :: atomic { agree(A1, B1) && dev[B1].log && has(entry[0].sealed, A2) -> mark }

  /* It had K and signed out, and B knows before A that a rotation is due. */
  :: atomic { is_member(B1) && has_revoked(B1) && has(epoch_of(B1).sealed, A2) && is_member(A1) && !dev[A1].log -> mark }

  /* Two have seen a fork, and one is kept in the dark. */
  :: atomic { dev[A1].forked && dev[B1].forked && verifies(C1) -> mark }

  /* C sealed another K to B, who refused it and got the right one from somebody else. */
  :: atomic { verifies(B1) && has(epoch_of(B1).wrong, B1) && has(epoch_of(B1).sealed, B1) -> mark }
  od
}

init {
  d_step {
    entry[0].line = bit(0);
    dev[A1].saw = bit(0);
    dev[B1].saw = bit(0);
    if
    :: DEVICES == 4 -> dev[DEVICES - 1].saw = bit(0)
    :: else
    fi;
    entry[0].members = bit(A1) | bit(B1);
    entry[0].lately = entry[0].members;
    entry[0].admitted = entry[0].members;
    entry[0].wanted = bit(A1) | bit(B1);
    entry[0].sealed = entry[0].wanted;
    dev[A1].k = K(0);
    dev[B1].k = K(0);
    dev[C1].known = NONE;
    dev[C1].highest = NONE
  };
  atomic {
    run Device(A1);
    run Device(B1);
    run Device(C1);
    if
    :: DEVICES == 4 -> run Device(A2)
    :: else
    fi
  }
}
