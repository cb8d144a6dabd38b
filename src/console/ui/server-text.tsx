import { displayedName } from '../../crypto/encoding/quoted.ts'

/** The longest text that is shown, in characters. */
const LONGEST = 2000

/** A text of the daemon, the server or another person, isolated from the text around it. */
export const ServerText = (of: {
  readonly text: string
  /** The language of the text, if it is known. Texts of the API are in English. */
  readonly lang?: 'en'
}) => <bdi lang={of.lang}>{displayedName(of.text, LONGEST)}</bdi>
