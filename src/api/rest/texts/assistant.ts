/** The texts of `../assistant.ts`. */
import type { Texts } from './text.ts'

export const assistantTexts: Texts<'chat' | 'feedback'> = {
  chat: {
    turn: {
      summary: 'Take one turn of the assistant conversation',
      description:
        'The message goes to the account server and, where its operator has configured one, to an assistant, whose answer comes bit by bit as server-sent events. Without one, the handbook answers, as JSON.',
      tool: {
        title: 'Ask the assistant',
        description:
          'Ask how Countersign works. The message goes to the account server and, where it has one, to an assistant outside. It does nothing for you and sees no account: use the other tools for that. Ids of turn and conversation for chat_rate come with the answer.',
        traits: ['again', 'outside'],
      },
    },
    rate: {
      summary: 'Rate an answer',
      description:
        'Sends the operator a rating of an answer; `turn_id` is the `X-Turn-Id` of the answer. Rating it again replaces the rating.',
      tool: {
        title: 'Rate an answer of the assistant',
        description:
          'Rate an answer of chat_turn; again replaces the rating. Anything else for the operator: feedback_send.',
        traits: ['outside'],
      },
    },
  },
  feedback: {
    send: {
      summary: 'Send feedback to the team',
      description:
        'What is written goes to the operator of the account server, with the id of the account, and cannot be taken back.',
      tool: {
        title: 'Send feedback to the operator',
        description:
          'Send a message to the people who run the account server: a problem, an idea, a question. Only if the person wants it; not called back. Questions that want an answer now: chat_turn.',
        traits: ['again', 'outside'],
      },
    },
  },
}
