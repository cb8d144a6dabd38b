/** The list from which the user chooses the person to call. */
import { useSignal } from '@preact/signals'
import { CALLEE_EVENTS, readCallees, type PersonToCall } from '../../data/own-words.ts'
import { useResource } from '../../data/resource.ts'
import { goTo, hrefOf } from '../../shell/router.ts'
import { filled, messages } from '../../text/text.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Loaded } from '../../ui/page.tsx'
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
          if (found[0] !== undefined) goTo('call', found[0].id)
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

export const CalleeList = () => {
  const { call } = messages()
  const callees = useResource('callees', readCallees, CALLEE_EVENTS)
  return (
    <section class="card">
      <h2>{call.whoCalled}</h2>
      <Loaded from={callees}>
        {(all) =>
          all.length === 0 ? (
            <>
              <p>{call.noPeople}</p>
              <a class="button main" href={hrefOf('people', 'add')}>
                {call.addPerson}
              </a>
            </>
          ) : (
            <Found callees={all} />
          )
        }
      </Loaded>
    </section>
  )
}
