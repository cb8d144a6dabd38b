/** The list from which the user chooses the person to call. */
import { useComputed, useSignal } from '@preact/signals'
import { useAllConnections } from '../../data/connections.ts'
import { calleesOf, useActiveGuests, type PersonToCall } from '../../data/own-words.ts'
import { goTo, hrefOf } from '../../shell/router.ts'
import { filled, locale, messages } from '../../text/text.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Name } from '../../ui/person-name.tsx'
import { VirtualList } from '../../ui/virtual-list.tsx'

const ROW_REM = 3

const matching = (callees: readonly PersonToCall[], text: string): readonly PersonToCall[] => {
  const wanted = text.trim().toLocaleLowerCase()
  return wanted === ''
    ? callees
    : callees.filter(({ name }) => name.toLocaleLowerCase().includes(wanted))
}

const Found = ({ callees }: { readonly callees: readonly PersonToCall[] }) => {
  const { call } = messages()
  const text = useSignal('')
  const found = matching(callees, text.value)
  return (
    <>
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          // The list may not have been rendered since the last key.
          const [first] = matching(callees, text.peek())
          if (first !== undefined) goTo('call', first.id)
        }}
      >
        <TextField label={call.findPerson} type="search" value={text} autofocus />
      </form>
      {found.length === 0 ? (
        <p role="status">{filled(call.noMatch, { text: text.value })}</p>
      ) : (
        <VirtualList
          items={found}
          rowHeight={ROW_REM}
          label={call.whoCalled}
          keyOf={({ id }) => id}
          row={({ id, kind, name, favorite }) => (
            <a class="callee" href={hrefOf('call', id)}>
              <span aria-hidden="true">{favorite ? '★' : ''}</span>
              <Name of={name} />
              <span class="kind">{call[kind]}</span>
            </a>
          )}
        />
      )}
    </>
  )
}

/** Returns the people in the order of the list: favourites first, then by name. */
function inOrder(callees: readonly PersonToCall[]): PersonToCall[] {
  const { compare } = new Intl.Collator(locale(), { numeric: true })
  return callees.toSorted(
    (a, b) => Number(b.favorite) - Number(a.favorite) || compare(a.name, b.name),
  )
}

export const CalleeList = () => {
  const { call, frame } = messages()
  const connections = useAllConnections()
  const guests = useActiveGuests()
  const callees = useComputed(() => {
    const { value: all } = connections.data
    const { value: codes } = guests.data
    return all === undefined || codes === undefined ? null : inOrder(calleesOf(all.values(), codes))
  })
  const failure = useComputed(() => connections.failure.value ?? guests.failure.value)
  return (
    <section class="card">
      <h2>{call.whoCalled}</h2>
      <FailureNotice of={failure} />
      {callees.value === null ? (
        failure.value === null && <p role="status">{frame.loading}</p>
      ) : callees.value.length === 0 ? (
        <>
          <p>{call.noPeople}</p>
          <a class="button main" href={hrefOf('people', 'add')}>
            {call.addPerson}
          </a>
        </>
      ) : (
        <Found callees={callees.value} />
      )}
    </section>
  )
}
