/**
 * Serves the page of an open link and accepts its form. The answer for an unused slug and a
 * previously used one is the same.
 */
import { safeParse } from 'valibot'
import { email, name, text } from '../../api/fields.ts'
import type { Open } from '../../api/port.ts'
import type { ServiceContext } from '../context.ts'
import { type Asked, ask, findLink } from '../links/open-link-asks.ts'
import {
  type Faults,
  type Values,
  askedPage,
  formPage,
  fullPage,
  pausedPage,
  unknownPage,
} from './open-link-page.ts'

const NAME = name(100)
const MESSAGE = text(1000)

/**
 * Trims the values. Browsers submit text with CRLF line ends (HTML, form submission), which must
 * not count towards the length.
 */
const cleaned = (values: Values): Values => ({
  display_name: values.display_name.trim(),
  email: values.email.trim(),
  message: values.message.replaceAll(/\r\n?/g, '\n').trim(),
})

const faultOf = (schema: typeof NAME, value: string): string | undefined => {
  const { issues } = safeParse(schema, value, { abortPipeEarly: true })
  return issues?.[0].message
}

/** Returns the errors of fields, in words for the user of the form. */
function judge({ display_name, email: address, message }: Values): Faults {
  const nameFault = display_name === '' ? 'Write your name.' : faultOf(NAME, display_name)
  const emailFault = safeParse(email, address).success
    ? undefined
    : 'Write your e-mail address, like name@example.org.'
  const messageFault = message === '' ? undefined : faultOf(MESSAGE, message)
  return {
    ...(nameFault === undefined ? {} : { display_name: nameFault }),
    ...(emailFault === undefined ? {} : { email: emailFault }),
    ...(messageFault === undefined ? {} : { message: messageFault }),
  }
}

const askedOf = ({ display_name, email: address, message }: Values): Asked => ({
  display_name,
  email: address.toLowerCase(),
  message: message === '' ? null : message,
})

export const openLinkPages = (ground: ServiceContext): Open['openLinkPages'] => ({
  read: async ({ slug }) => {
    const link = await findLink(ground.db, slug)
    if (link === null) return unknownPage()
    return link.state === 'paused' ? pausedPage(link) : formPage(link)
  },

  ask: async ({ slug, body }) => {
    const link = await findLink(ground.db, slug)
    if (link === null) return unknownPage()
    if (link.state === 'paused') return pausedPage(link, 409)
    const values = cleaned(body)
    const faults = judge(values)
    if (Object.keys(faults).length > 0) return formPage(link, { values, faults })
    switch (await ask(ground, link, askedOf(values))) {
      case 'taken':
        return askedPage(link)
      case 'full':
        return fullPage(link)
      case 'paused':
        return pausedPage(link, 409)
      case 'gone':
        return unknownPage()
    }
  },
})
