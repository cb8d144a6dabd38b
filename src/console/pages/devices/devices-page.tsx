/** The devices of the account with their sessions, and the way to another device. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import type { PageProps } from '../../shell/page-props.ts'
import { messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { ActionResult } from '../../ui/action-result.tsx'
import { Loaded, PageFrame } from '../../ui/page.tsx'
import { RightsNotice } from '../../ui/rights-notice.tsx'
import { AddDevice } from './add-device.tsx'
import { ApproveDevice } from './approve-device.tsx'
import { DeviceRow } from './device-row.tsx'

type Device = Schemas['Device']

/** Returns the devices: the own one, then those that wait, then the others, newest first. */
function inOrder(devices: readonly Device[]): Device[] {
  const rank = ({ current, state }: Device) => (current ? 0 : state === 'pending' ? 1 : 2)
  return devices.toSorted((a, b) => rank(a) - rank(b))
}

async function readDevices() {
  const [devices, sessions] = await Promise.all([
    allItems((query) => dataOf(api.GET('/api/v1/devices', { params: { query } }))),
    allItems((query) => dataOf(api.GET('/api/v1/sessions', { params: { query } }))),
  ])
  return { devices: inOrder(devices), sessions }
}

/** What to do if this device itself waits for approval. */
const WaitingHere = () => {
  const texts = messages().devices
  return (
    <section class="card prose">
      <h2>{texts.waitingHere}</h2>
      <p>{texts.waitingHereText}</p>
      <p>
        <CommandText of="countersignd login" />
      </p>
      <p>
        <CommandText of="countersignd device approve" />
      </p>
    </section>
  )
}

const DeviceList = () => {
  const { frame, devices: texts } = messages()
  const outcome = useSignal<ComponentChildren>(null)
  const found = useResource('devices', readDevices, ['device.*', 'session.*', 'sync.done'])
  return (
    <PageFrame title={frame.devices} lead={texts.lead}>
      <ActionResult of={outcome} />
      <RightsNotice needs="write" />
      <Loaded from={found}>
        {({ devices, sessions }) => (
          <>
            {devices.some(({ current, state }) => current && state === 'pending') ? (
              <WaitingHere />
            ) : null}
            <ul class="card rows" aria-label={texts.list}>
              {devices.map((device) => (
                <DeviceRow
                  key={device.id}
                  device={device}
                  sessions={sessions}
                  onDone={async (result) => {
                    await found.reload()
                    outcome.value = result
                  }}
                />
              ))}
            </ul>
            <AddDevice hasSessions={sessions.length > 0} />
          </>
        )}
      </Loaded>
      <section class="card prose">
        <h2>{texts.renew}</h2>
        <p>{texts.renewText}</p>
        <CommandText of="countersignd device renew" />
      </section>
    </PageFrame>
  )
}

export default function DevicesPage({ rest: [view, id] }: PageProps) {
  return view === 'approve' && id !== undefined ? (
    <ApproveDevice key={id} id={id} />
  ) : (
    <DeviceList />
  )
}
