/** The texts of `../assistant.ts`. */
import type { Texts } from './text.ts'

export const assistantTexts: Texts<'chat' | 'feedback'> = {
  chat: {
    turn: {
      summary: 'Send a message to the assistant',
      description:
        'The message is sent to the account server. If its operator has configured an assistant, the account server forwards the message to it, and the answer is streamed as server-sent events. Otherwise the answer is taken from the handbook and returned as JSON.',
      tool: {
        title: 'Ask the assistant',
        description:
          'Ask how Countersign works. The message is sent to the account server and possibly to an outside assistant. The assistant cannot act or see accounts; use other tools for that. The answer includes the turn id for chat_rate and the conversation id.',
        traits: ['again', 'outside'],
      },
    },
    rate: {
      summary: 'Rate an answer',
      description:
        'Sends the operator your rating of an answer. `turn_id` is the `X-Turn-Id` of the answer. Rating the answer again replaces the rating.',
      tool: {
        title: 'Rate an answer of the assistant',
        description:
          'Rate an answer of chat_turn. Rating it again replaces the rating. To tell the operator anything else, use feedback_send.',
        traits: ['outside'],
      },
    },
  },
  feedback: {
    send: {
      summary: 'Send feedback to the operator',
      description:
        'The message goes to the operator of the account server together with the id of your account, and cannot be taken back. If `mailed` is false, the account server sends no mail, so the operator reads the message only there.',
      tool: {
        title: 'Send feedback to the operator',
        description:
          'Send a problem, an idea or a question to the people who run the account server. Send only if the person wants it; it cannot be taken back. For questions that need an answer now, use chat_turn.',
        traits: ['again', 'outside'],
      },
    },
  },
}
