/** The tags of a connection: boxes to tick, and a new tag. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../../data/action.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { useTags } from '../../../data/tags.ts'
import { messages } from '../../../text/text.tsx'
import { FailureNotice } from '../../../ui/failure.tsx'
import { TextField } from '../../../ui/fields.tsx'
import { ActionForm } from '../../../ui/form.tsx'
import { Loaded } from '../../../ui/page.tsx'
import { Name } from '../../../ui/person-name.tsx'

const pathOf = (tag: string, connection: string) => ({
  params: { path: { id: tag, cid: connection } },
})

/**
 * Shows the tags.
 * @param of `onChange`: called with the connection as it is now
 */
export const ConnectionTags = (of: {
  readonly connection: Schemas['Connection']
  readonly onChange: (connection: Schemas['Connection']) => void
}) => {
  const { people } = messages()
  const { connection } = of
  const { id, tag_ids } = connection
  const tags = useTags()
  const name = useSignal('')
  const toggle = useAction(async (tag: string) => {
    if (tag_ids.includes(tag)) {
      await dataOf(api.DELETE('/api/v1/tags/{id}/assign/{cid}', pathOf(tag, id)))
      of.onChange({ ...connection, tag_ids: tag_ids.filter((one) => one !== tag) })
    } else of.onChange(await dataOf(api.POST('/api/v1/tags/{id}/assign/{cid}', pathOf(tag, id))))
  })
  const create = useAction(async () => {
    const tag = await dataOf(api.POST('/api/v1/tags', { body: { name: name.value.trim() } }))
    of.onChange(await dataOf(api.POST('/api/v1/tags/{id}/assign/{cid}', pathOf(tag.id, id))))
    name.value = ''
    await tags.reload()
  })
  return (
    <section class="card">
      <h2>{people.tags}</h2>
      <Loaded from={tags}>
        {(all) =>
          all.length === 0 ? (
            <p>{people.noTags}</p>
          ) : (
            <ul class="tag-boxes">
              {all.map((tag) => (
                <li key={tag.id}>
                  <label>
                    <input
                      type="checkbox"
                      checked={tag_ids.includes(tag.id)}
                      onChange={(event) => {
                        const box = event.currentTarget
                        void toggle.run(tag.id).then((isDone) => {
                          if (!isDone) box.checked = tag_ids.includes(tag.id)
                        })
                      }}
                    />
                    <span class="tag">
                      <i style={{ background: tag.color ?? 'currentcolor' }} />
                      <Name of={tag.name} />
                    </span>
                  </label>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <FailureNotice of={toggle.failure} />
      <details>
        <summary>{people.newTag}</summary>
        <ActionForm action={create} submit={people.addTag}>
          <TextField label={people.name} value={name} maxLength={60} required />
        </ActionForm>
      </details>
    </section>
  )
}
