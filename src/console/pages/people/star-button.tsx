/** Stars: the marks of favourites. */
import { useAction, type Action } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { filled, messages } from '../../text/text.tsx'

/** The change of a star. */
export type StarAction = Action<[Schemas['Connection']]>

/**
 * Returns the action that changes the star of a connection.
 * @param onChange called with the connection as the daemon has it now
 */
export const useStar = (onChange: (connection: Schemas['Connection']) => void): StarAction =>
  useAction(async ({ id, favorite }: Schemas['Connection']) => {
    const params = { path: { id } }
    const body = { favorite: !favorite }
    onChange(await dataOf(api.POST('/api/v1/connections/{id}/favorite', { params, body })))
  })

/** The star of a connection, as a button. */
export const StarButton = (of: {
  readonly connection: Schemas['Connection']
  readonly action: StarAction
}) => {
  const { people } = messages()
  const { favorite, name } = of.connection
  return (
    <button
      type="button"
      class="plain star"
      aria-pressed={favorite}
      aria-label={filled(favorite ? people.unstar : people.star, { name: displayedName(name) })}
      onClick={() => void of.action.run(of.connection)}
    >
      <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
        <path d="m12 3.6 2.6 5.4 5.9.8-4.3 4.1 1 5.9-5.2-2.8-5.2 2.8 1-5.9L3.5 9.8l5.9-.8z" />
      </svg>
    </button>
  )
}
