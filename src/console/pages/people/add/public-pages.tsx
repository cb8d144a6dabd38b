/** The public pages on which people ask to connect: make, pause, change the address, delete. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { useAction } from '../../../data/action.ts'
import { allItems, api, dataOf, type Schemas } from '../../../data/api.ts'
import { useResource } from '../../../data/resource.ts'
import { hrefOf } from '../../../shell/router.ts'
import { filled, messages } from '../../../text/text.tsx'
import { ActionButton } from '../../../ui/button.tsx'
import { CommandText } from '../../../ui/command.tsx'
import { Copyable } from '../../../ui/copyable.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { FailureNotice } from '../../../ui/failure.tsx'
import { TextField } from '../../../ui/fields.tsx'
import { ActionForm } from '../../../ui/form.tsx'
import { keepFocus } from '../../../ui/focus.ts'
import { Loaded } from '../../../ui/page.tsx'
import { Name } from '../../../ui/person-name.tsx'
import { SlugDialog } from './slug-dialog.tsx'

type OpenLink = Schemas['OpenLink']

const useOpenLinks = () =>
  useResource(
    'links',
    () => allItems((page) => dataOf(api.GET('/api/v1/open-links', { params: { query: page } }))),
    ['open_link_request.*', 'session.*'],
  )

const PublicPage = (of: {
  readonly link: OpenLink
  readonly onChange: () => Promise<unknown>
  readonly onDelete: () => void
}) => {
  const { people } = messages()
  const { link } = of
  const { id, state, url, reachable, pending_requests } = link
  const isChanging = useSignal(false)
  const toggle = useAction(async () => {
    const params = { path: { id } }
    await dataOf(
      state === 'active'
        ? api.PATCH('/api/v1/open-links/{id}/pause', { params })
        : api.PATCH('/api/v1/open-links/{id}/resume', { params }),
    )
    await of.onChange()
  })
  return (
    <li class="card">
      <h3>
        <Name of={link.title} />{' '}
        <span class="person-state" data-tone={state === 'active' ? 'ok' : 'quiet'}>
          {state === 'active' ? people.pageActive : people.pagePaused}
        </span>
      </h3>
      <p>
        <Copyable value={url} label={people.pageAddress}>
          <code translate={false}>{url}</code>
        </Copyable>
      </p>
      {reachable === 'this_machine' ? (
        <p class="hint">
          {people.onlyHere} <CommandText of="countersignd publish" />
        </p>
      ) : null}
      {pending_requests === 0 ? null : (
        <p>
          <a href={hrefOf('needs')}>{filled(people.pageRequests, { count: pending_requests })}</a>
        </p>
      )}
      <div class="answers">
        <ActionButton action={toggle}>
          {state === 'active' ? people.pause : people.resume}
        </ActionButton>
        <button
          type="button"
          onClick={() => {
            isChanging.value = true
          }}
        >
          {people.changeAddress}
        </button>
        <button type="button" class="danger" onClick={of.onDelete}>
          {people.delete}
        </button>
      </div>
      <FailureNotice of={toggle.failure} />
      {isChanging.value ? (
        <SlugDialog
          of={link}
          onDone={of.onChange}
          onClose={() => {
            isChanging.value = false
          }}
        />
      ) : null}
    </li>
  )
}

const readSuggestion = async () => (await dataOf(api.GET('/api/v1/open-links/suggest'))).slug

const NewPage = ({ onMade }: { readonly onMade: () => Promise<unknown> }) => {
  const { people } = messages()
  const title = useSignal('')
  const slug = useSignal('')
  const suggest = useAction(async () => {
    slug.value = await readSuggestion()
  })
  useEffect(() => void suggest.run(), [])
  const create = useAction(async () => {
    const body = {
      ...(title.value.trim() === '' ? {} : { title: title.value.trim() }),
      ...(slug.value.trim() === '' ? {} : { slug: slug.value.trim() }),
    }
    await dataOf(api.POST('/api/v1/open-links', { body }))
    await onMade()
    title.value = ''
    await suggest.run()
  })
  return (
    <section class="card">
      <h2>{people.newPage}</h2>
      <ActionForm action={create} submit={people.createPage}>
        <TextField
          label={people.pageTitle}
          hint={people.pageTitleHint}
          value={title}
          maxLength={100}
        />
        <TextField label={people.pageSlug} hint={people.pageSlugHint} value={slug} />
        <FailureNotice of={suggest.failure} />
        <p>
          <ActionButton action={suggest}>{people.suggest}</ActionButton>
        </p>
      </ActionForm>
    </section>
  )
}

export const PublicPages = () => {
  const { people } = messages()
  const links = useOpenLinks()
  const deleted = useSignal<OpenLink | null>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  return (
    <>
      <h2 ref={heading} tabIndex={-1}>
        {people.pages}
      </h2>
      <Loaded from={links}>
        {(all) =>
          all.length === 0 ? (
            <p>{people.noPages}</p>
          ) : (
            <ul class="plain-list">
              {all.map((link) => (
                <PublicPage
                  key={link.id}
                  link={link}
                  onChange={() => links.reload()}
                  onDelete={() => {
                    deleted.value = link
                  }}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      <NewPage onMade={() => links.reload()} />
      {deleted.value === null ? null : (
        <DeletePageDialog
          of={deleted.value}
          onDone={() => links.reload()}
          onClose={() => {
            deleted.value = null
            keepFocus(heading.current)
          }}
        />
      )}
    </>
  )
}

const DeletePageDialog = (of: {
  readonly of: OpenLink
  readonly onDone: () => Promise<unknown>
  readonly onClose: () => void
}) => {
  const { people } = messages()
  const { id, title } = of.of
  return (
    <ConfirmDialog
      title={filled(people.pageDeleteTitle, { name: displayedName(title) })}
      confirm={people.delete}
      danger
      onClose={of.onClose}
      work={async () => {
        await dataOf(api.DELETE('/api/v1/open-links/{id}', { params: { path: { id } } }))
        await of.onDone()
      }}
    >
      <p>{people.pageDeleteText}</p>
    </ConfirmDialog>
  )
}
