/** Exports: all data that the account server stores about the account, as a ZIP file. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { sizeText } from '../../text/size.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { Loaded } from '../../ui/page.tsx'
import { When } from '../../ui/when.tsx'
import { SettingSection } from './setting-section.tsx'

const readExports = () =>
  allItems((query) => dataOf(api.GET('/api/v1/exports', { params: { query } })))

const ExportRow = ({ of }: { readonly of: Schemas['Export'] }) => {
  const { settings } = messages()
  const link = useSignal<{ readonly url: string } | null>(null)
  const getLink = useAction(async () => {
    const path = { id: of.id }
    link.value = await dataOf(api.GET('/api/v1/exports/{id}/download', { params: { path } }))
  })
  const kind = {
    ready: 'ok',
    failed: 'bad',
    queued: undefined,
    building: undefined,
    expired: undefined,
  }[of.state]
  return (
    <li>
      <span class="grow">
        <span class="badge" data-kind={kind}>
          {settings[`export_${of.state}`]}
        </span>{' '}
        <MessageText of={settings.requested} values={{ time: <When at={of.created_at} /> }} />
        {of.state === 'queued' || of.state === 'building' ? (
          <progress
            max={100}
            value={of.progress === 0 ? undefined : of.progress}
            aria-label={settings.progress}
          />
        ) : null}
        {of.error === null ? null : (
          <span class="hint block" lang="en">
            {of.error}
          </span>
        )}
        {of.state === 'ready' && of.size_bytes !== null ? (
          <span class="hint block">
            {sizeText(of.size_bytes)}
            {' · '}
            <MessageText
              of={settings.exportDeleted}
              values={{ time: <When at={of.expires_at} /> }}
            />
          </span>
        ) : null}
        <FailureNotice of={getLink.failure} />
        {link.value === null ? null : (
          <p role="status">
            <a href={link.value.url} target="_blank" rel="noreferrer">
              {settings.download}
            </a>{' '}
            <span class="hint">{settings.downloadHint}</span>
          </p>
        )}
      </span>
      {of.state === 'ready' && link.value === null ? (
        <ActionButton action={getLink} kind="small">
          {settings.getLink}
        </ActionButton>
      ) : null}
    </li>
  )
}

/** The section of the exports. */
export const ExportSettings = () => {
  const { settings } = messages()
  const exports = useResource('exports', readExports, ['export.*', 'session.*'])
  const request = useAction(async () => {
    await dataOf(api.POST('/api/v1/exports'))
    await exports.reload()
  })
  return (
    <SettingSection title={settings.exports} lead={settings.exportsLead}>
      <Loaded from={exports}>
        {(items) => (
          <>
            {items.length === 0 ? null : (
              <ul class="rows lines" aria-label={settings.exports}>
                {items.map((one) => (
                  <ExportRow key={one.id} of={one} />
                ))}
              </ul>
            )}
            <FailureNotice of={request.failure} />
            <div class="answers">
              <ActionButton action={request}>{settings.requestExport}</ActionButton>
              {items.length === 0 ? null : (
                <ConfirmedButton
                  label={settings.deleteExports}
                  title={settings.deleteExportsAsk}
                  confirm={settings.deleteExports}
                  work={async () => {
                    await dataOf(api.DELETE('/api/v1/exports'))
                    await exports.reload()
                  }}
                >
                  {settings.deleteExportsMeans}
                </ConfirmedButton>
              )}
            </div>
          </>
        )}
      </Loaded>
    </SettingSection>
  )
}
