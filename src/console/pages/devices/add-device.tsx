/** How the user gets Countersign on another device. */
import { allItems, api, dataOf } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { daemonStatus } from '../../data/status.ts'
import { messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'

/** Addresses that a shell takes as they are. */
const PLAIN = /^[\w.@-]+$/

/** Returns whether an address is that of the machine itself. */
const isLoopback = (address: string): boolean =>
  ['localhost', '127.0.0.1', '[::1]'].includes(new URL(address).hostname)

const SAMPLE = 'you@example.org'

/** Returns the address with which the user signs in; a sample if there is none to show. */
function useAddress(): string {
  const emails = useResource(
    'login-address',
    () => allItems((query) => dataOf(api.GET('/api/v1/emails', { params: { query } }))),
    ['session.*'],
  )
  const address = emails.data.value?.find(({ primary }) => primary)?.address ?? ''
  return PLAIN.test(address) ? address : SAMPLE
}

/** @param of `hasSessions`: false for an embedded account, which has no sessions */
export const AddDevice = ({ hasSessions }: { readonly hasSessions: boolean }) => {
  const texts = messages().devices
  const address = useAddress()
  const status = daemonStatus.value
  if (status === null) return null
  if (!hasSessions)
    return (
      <section class="card prose">
        <h2>{texts.add}</h2>
        <p>{texts.addEmbedded}</p>
        <CommandText of="countersignd backup countersign.backup" />
      </section>
    )
  return (
    <section class="card prose">
      <h2>{texts.add}</h2>
      <p>{texts.addText}</p>
      <ol class="steps">
        <li>{texts.addInstall}</li>
        <li>
          {texts.addLogin}
          <p>
            <CommandText of={`export SVC_BACKEND_URL=${status.backend}`} />
          </p>
          {isLoopback(status.backend) ? <p class="hint">{texts.addLoopback}</p> : null}
          <p>
            <CommandText of={`countersignd login --email ${address}`} />
          </p>
        </li>
        <li>{texts.addApprove}</li>
      </ol>
    </section>
  )
}
