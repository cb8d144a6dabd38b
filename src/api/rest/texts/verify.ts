/** The texts of `../verify.ts` and `../stamp.ts`. */
import type { Texts } from './text.ts'

export const verifyTexts: Texts<'verify' | 'stamp' | 'verificationLog'> = {
  verify: {
    words: {
      summary: 'Check three words on this device',
      description:
        'Compares the words with those of all your contacts, for this minute and its neighbours, and counts right words as used. With `expect`, only with those of one connection or person; words of other speakers are then answered like wrong ones. The words do not leave the machine. After 20 wrong tries of a token in a minute, or 60 of all tokens together, it answers 429; after 100 in a row of a token, or 300 of all tokens, each further one begins a pause of 1, 2, 4 … 60 minutes, until right words end the row. With `old_epoch` the words are from before a routine change of the secret, at most 7 days ago: no proof, and the other side has to open the app and say new ones. With `challenge_id`, as the answer to that challenge, by the connection it is for; it takes one try, and a failure means different words, person or purpose.',
      tool: {
        title: 'Check three words that a caller said',
        description:
          'Who says these words now? Compare who matched with who they claim to be, or give "expect" or "challenge_id"; a name alone is no proof. Words count once. Say "not verified" only if "conclusive" is true. 20 wrong tries a minute; pauses after 100.',
        // `again`: words are accepted only once.
        traits: ['again'],
      },
    },
    challenge: {
      summary: 'Draw a word to say, for words that are for you and one purpose',
      description:
        'For a call in which the listener and the purpose of the words matter, such as a payment. Say the `word`; the other side enters it with your account and the purpose, and says three words that no other listener, device or purpose fits. Check them with `challenge_id`. It takes one try within 15 minutes, and a new one ends the open one of the same token and connection; 5 in 15 minutes are the most, for all tokens together. `purpose` is normalised: show what is answered, since "1.200" and "12.00" are both `1200`.',
      tool: {
        title: 'Draw a word to say before words are heard',
        description:
          'One word for the person to SAY; the speaker answers with three that are for this listener and this purpose alone. Have the person read "purpose" as it is answered. Then verify_words with challenge_id, once. At most 5 in 15 minutes.',
        // `again`: a new challenge ends the open one.
        traits: ['again'],
      },
    },
    public: {
      summary: 'Look up three words at the account server',
      description:
        'For words of a person you are not connected to: those of connections and guests are checked here, all others are sent to the account server, which has public codes and stamps. Report that no one was found only if `conclusive` is true; words that were used before (`replayed`) and your own (`echo`) belong to an account and prove nothing. 20 look-ups a minute.',
      tool: {
        title: 'Look up public words',
        description:
          'Look up the words of a stranger, or of a stamp, at the account server, which learns them; those of connections are found here first. Proves less than verify_words: use that for people you are connected with. Report "nobody" only if "conclusive" is true.',
        traits: ['again', 'outside'],
      },
    },
  },
  stamp: {
    create: {
      summary: 'Sign content on this device',
      description:
        'Signs with the key of this device; the content stays here, the account server gets the signed digest alone. Give exactly one of `content`, `content_base64` and `sha256`. A stamp cannot be taken back.',
      tool: {
        title: 'Sign content',
        description:
          'Sign content in the name of this account, for everyone to check at verification_url. Give exactly one of content, content_base64 and sha256; sha256 for what makes the call exceed 4 MiB. Sign only what the person wants signed: a stamp is never taken back.',
        traits: ['again', 'outside'],
      },
    },
  },
  verificationLog: {
    list: {
      summary: 'List verifications',
      description:
        'Every check of words that this account made, public look-ups included, with its outcome, the person it found and the token of the request; the words themselves are not stored.',
      tool: {
        title: 'List past checks of words',
        description:
          'Which checks of words were made, when, and with what outcome, newest first. The words themselves are not in it. Checks nothing: verify_words does.',
      },
    },
  },
}
