/**
 * The prompts of the Model Context Protocol: what a user chooses by name, and what a model then
 * reads in the words of the user. They lead through the tasks in which a mistake helps an impostor.
 */
import { displayedName } from '../../crypto/encoding/quoted.ts'
import { inQuotes } from '../name-text.ts'
import type { Reference } from '../naming/kinds.ts'
import type { Completed } from './completions.ts'
import type { ToolName } from './tool.ts'

/** An argument of a prompt. All arguments are texts. */
interface PromptArgument extends Completed {
  readonly description: string
  readonly required?: true
}

/** The arguments of a prompt that were given, each in quotes. */
type Given = Readonly<Record<string, string | undefined>>

export interface McpPrompt {
  readonly title: string
  readonly description: string
  readonly args: Readonly<Record<string, PromptArgument>>
  /** The tools that the text names. */
  readonly tools: readonly ToolName[]
  /** Returns the text for the model. */
  readonly text: (given: Given) => string
}

const SPEAKER: Reference = ['connection', 'group member', 'guest code']

const PROMPTS = {
  verify_caller: {
    title: 'Verify a caller',
    description:
      'Find out who is on the line, one step at a time: who speaks first, and when to hang up.',
    args: {
      name: {
        description: 'Who they say they are: a person, connection or guest of yours.',
        takes: SPEAKER,
        isOwnOnly: true,
      },
      purpose: { description: 'What they must confirm, such as "pay 12000 to 1234".' },
    },
    tools: ['verify_words', 'verify_challenge', 'connections_code', 'guest_codes_list'],
    text: ({
      name,
      purpose,
    }) => `I am on a call${name === undefined ? '' : ` with someone who says they are ${name}`}. Help me to find out whether it is true. I may be under pressure: give me one short instruction at a time, and wait for my answer.

1. Ask me who called. The person who called speaks first.
   - They called me: I ask for their three words, and say none of mine yet.
   - I called them, on a number that I already knew: I say mine first. Read them with connections_code, or for a guest from guest_codes_list. Then I ask for theirs. If they gave me the number, I hang up, and call one that I already knew.
2. Check the three words that I type with verify_words${name === undefined ? '' : `, with expect ${name}`}. Check only what I heard on this call. Never guess, complete or correct a word, and never tell me a word that they should say.
3. The result:
   - "verified", and a match by another speaker with "conclusive": tell me who it is. If that is not who they say they are, I hang up. If it is, and they called me, read my words, and I say them back.
   - Not "verified", but "conclusive": I ask once more. If the words are wrong again, I hang up, and call a number that I already know, not one that they give me.
   - "replayed", "echo", "old_epoch", or not "conclusive": this proves nothing, for or against them. Tell me what the summary asks for. If that does not settle it, I hang up, and call a number that I already know.
4. Until they are verified, I give no codes or passwords, pay nothing, and install or approve nothing. Haste, secrecy and a new account number are signs of fraud. A voice, a face, a caller's number and what they know about me prove nothing.
5. ${purpose === undefined ? 'Before money or access changes hands' : `They must confirm ${purpose}. After step 3`}, draw a word with verify_challenge, for their connection and this purpose. I say the word, and read out the purpose as the answer has it. They answer with three other words. Check these once, with challenge_id. If they are wrong, I do nothing of what they asked for, and hang up. A guest cannot confirm a purpose.`,
  },

  say_my_words: {
    title: 'Say my words',
    description: 'Read the three words that prove to another person that it is you.',
    args: {
      name: {
        description: 'The person, connection or guest that you speak with.',
        required: true,
        takes: ['connection', 'guest code'],
      },
      challenge: { description: 'The word that they said, if they asked for a confirmation.' },
      purpose: { description: 'What you confirm with it, as they said it.' },
    },
    tools: ['connections_code', 'guest_codes_list', 'verify_words'],
    text: ({
      name,
      challenge,
      purpose,
    }) => `I am on a call with ${name}, and have to prove that it is me. Give me one short instruction at a time.

1. Ask me who called. If they called me, they say their words first: do not read mine before verify_words has verified theirs, with expect ${name}. If they are not verified, I say nothing and hang up. If I called, I speak first.
2. Read my words with connections_code. If ${name} is a guest, they are in guest_codes_list, as "code". Show me the three words, until when they are valid, and nothing else. If the minute has passed, read them again.
3. ${
      challenge === undefined
        ? 'If they say a word and a purpose, they ask me to confirm that purpose. Pass both'
        : `They said the word ${challenge}${purpose === undefined ? '. Ask me for the purpose that they said' : `, and the purpose ${purpose}`}. Pass both`
    } as challenge and purpose, and show me the purpose of the answer before the words. I say the words only after I have told you that I want exactly this.
4. My words are for speaking on this call. Do not write them into a mail, a chat, a file or a page. A person who is really ${name} never needs them in writing.`,
  },

  guest_link: {
    title: 'Make a link for a guest',
    description: 'Give words to a person who has no account: a secret link for a limited time.',
    args: {
      name: {
        description: 'The name of the guest in your list.',
        required: true,
        takes: 'external member',
      },
      time: {
        description: 'How long the link is valid (default: one week).',
        values: ['one hour', 'one day', 'one week', '30 days', 'one year'],
      },
    },
    tools: [
      'guest_codes_list',
      'guest_codes_create',
      'guest_codes_send',
      'guest_codes_delete',
      'external_members_list',
    ],
    text: ({
      name,
      time,
    }) => `Make a guest code for ${name}, valid for ${time ?? 'one week, unless I want another time'}.

1. Look in guest_codes_list for an active code with this name. If there is one, ask me whether it still works for them, or should end (guest_codes_delete) before there is a new one. Its link cannot be shown again.
2. Look in external_members_list for this person. If they are there, give external_member_id.
3. Create it with guest_codes_create, and show me the link once. Whoever has the link can say the words of ${name}. Do not write it anywhere else, and do not open it.
4. Ask me how I give it to them: best in person, or where I am sure that it is them. Never to a person who calls or writes and asks for it. Mail it with guest_codes_send only if I ask for that, and only to an address that I already know.
5. Tell me what to tell them: open the link when we speak on the phone. The page asks who called. The person who called says their words first.
If the link may have reached someone else, end it with guest_codes_delete.`,
  },

  check_stamp: {
    title: 'Is this stamp real?',
    description: 'Find the stamp by its words or its link, and learn what proves that it is real.',
    args: {
      stamp: { description: 'The three words of the stamp, or its link.', required: true },
    },
    tools: ['verify_public'],
    text: ({
      stamp,
    }) => `Someone shows me a stamp: ${stamp}. Help me to find out whether it is real.

1. If these are three words, look them up with verify_public. They only find the stamp: tell me that they prove nothing yet. If nothing is found and "conclusive" is true, there is no such stamp. Do not open a link for me, and do not trust what a page, a picture or a document says about its own stamp.
2. A stamp is the signature of one account over one file. Only a check of the file itself proves anything. Tell me to do one of these:
   - with the stamp file: run "countersignd stamp verify FILE STAMP_FILE";
   - with the link: open it in my browser, check that its address is that of an account server that I know, and choose the file there.
3. It is real only if that check names the signer that I expect, and this file. A name that the account chose itself proves nothing: I compare it with a person whose keys I follow, or ask them on a number that I already know. A changed file, another signer, or a link without its part after "#" means: not real.`,
  },
} as const satisfies Readonly<Record<string, McpPrompt>>

const BY_NAME: ReadonlyMap<string, McpPrompt> = new Map(Object.entries(PROMPTS))

/** The maximum length of an argument that the text of a prompt quotes, in code points. */
const LONGEST_ARGUMENT = 200

/** Returns an argument as one line; an empty text if nothing of it can be shown. */
const lineOf = (value = ''): string => displayedName(value, LONGEST_ARGUMENT).trim()

/** Returns the prompt with a name; undefined if there is none. */
export const promptNamed = (name: string): McpPrompt | undefined => BY_NAME.get(name)

/** Returns the names of the prompts that need no other tools than these. */
export const promptsFor = (tools: ReadonlySet<string>): string[] =>
  [...BY_NAME].flatMap(([name, prompt]) =>
    prompt.tools.every((tool) => tools.has(tool)) ? [name] : [],
  )

/** Returns an argument of a prompt; undefined if there is none with this name. */
export const argumentOf = ({ args }: McpPrompt, name: string): Completed | undefined =>
  Object.hasOwn(args, name) ? args[name] : undefined

/** Returns a prompt as it is listed. */
export function listedPrompt(name: string, { title, description, args }: McpPrompt) {
  const listed = Object.entries(args).map(([key, { description, required = false }]) => ({
    name: key,
    description,
    required,
  }))
  return { name, title, description, arguments: listed }
}

/**
 * Returns what is wrong with the arguments of a prompt, as a sentence; null if nothing is. An empty
 * argument counts as left out, because clients send the fields of a form.
 */
export function faultOfArguments(
  { args }: McpPrompt,
  given: Readonly<Record<string, string>>,
): string | null {
  const names = Object.keys(args)
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined)
    return `There is no argument ${inQuotes(displayedName(unknown))}. The arguments are: ${names.join(', ')}.`
  const missing = names.find((name) => args[name]?.required && lineOf(given[name]) === '')
  return missing === undefined ? null : `Give the argument "${missing}".`
}

/** Returns the text of a prompt. Its arguments are quoted as one line each. */
export function textOfPrompt({ text }: McpPrompt, given: Readonly<Record<string, string>>): string {
  const quoted = Object.entries(given).flatMap(([name, value]) => {
    const line = lineOf(value)
    return line === '' ? [] : [[name, inQuotes(line)] as const]
  })
  return text(Object.fromEntries(quoted))
}
