/** Fields of forms, each with its label and an explanation. */
import { useSignal, type Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'

interface FieldBase {
  readonly label: string
  readonly hint?: ComponentChildren
}

const Labelled = (
  of: FieldBase & { readonly id: string; readonly children: ComponentChildren },
) => (
  <div class="field">
    <label for={of.id}>{of.label}</label>
    {of.children}
    {of.hint === undefined ? null : (
      <p class="hint" id={`${of.id}-hint`}>
        {of.hint}
      </p>
    )}
  </div>
)

const describedBy = (id: string, hint: ComponentChildren) =>
  hint === undefined ? undefined : `${id}-hint`

/** Returns the value of a field, which begins with `stored` and follows its changes. */
export function useFieldValue<T>(stored: T): Signal<T> {
  const value = useSignal(stored)
  useEffect(() => {
    value.value = stored
  }, [stored])
  return value
}

/** A line of text, or several lines with `rows`. */
export const TextField = (
  of: FieldBase & {
    readonly value: Signal<string>
    readonly type?: 'text' | 'email' | 'search' | 'url' | 'tel' | 'date'
    readonly rows?: number
    readonly required?: boolean
    readonly maxLength?: number
    readonly autofocus?: boolean
  },
) => {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  // Before the field is painted, so that no key that the user presses after seeing it is lost.
  useLayoutEffect(() => {
    if (of.autofocus === true) input.current?.focus()
  }, [])
  const shared = {
    id,
    value: of.value.value,
    required: of.required,
    maxLength: of.maxLength,
    'aria-describedby': describedBy(id, of.hint),
    autocomplete: 'off',
    onInput: (event: { readonly currentTarget: { readonly value: string } }) => {
      of.value.value = event.currentTarget.value
    },
  }
  return (
    <Labelled {...of} id={id}>
      {of.rows === undefined ? (
        // Each kind of input has a type of its own for the compiler.
        <input {...shared} ref={input} type={(of.type ?? 'text') as 'text'} />
      ) : (
        <textarea {...shared} rows={of.rows} />
      )}
    </Labelled>
  )
}

/** A colour. */
export const ColorField = (of: FieldBase & { readonly value: Signal<string> }) => {
  const id = useId()
  return (
    <Labelled {...of} id={id}>
      <input
        id={id}
        type="color"
        value={of.value.value}
        onInput={(event) => {
          of.value.value = event.currentTarget.value
        }}
      />
    </Labelled>
  )
}

/** A choice among few values. */
export const SelectField = <V extends string>(
  of: FieldBase & {
    readonly value: Signal<V>
    readonly options: readonly (readonly [value: V, text: string])[]
  },
) => {
  const id = useId()
  return (
    <Labelled {...of} id={id}>
      <select
        id={id}
        value={of.value.value}
        aria-describedby={describedBy(id, of.hint)}
        onChange={(event) => {
          of.value.value = event.currentTarget.value as V
        }}
      >
        {of.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

/** A box to tick. */
export const CheckField = (of: FieldBase & { readonly value: Signal<boolean> }) => {
  const id = useId()
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        checked={of.value.value}
        aria-describedby={describedBy(id, of.hint)}
        onChange={(event) => {
          of.value.value = event.currentTarget.checked
        }}
      />
      <label for={id}>{of.label}</label>
      {of.hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {of.hint}
        </p>
      )}
    </div>
  )
}

/** Boxes to tick, for any number of values. */
export const TicksField = <V extends string>(of: {
  readonly label: string
  readonly value: Signal<readonly V[]>
  readonly options: readonly (readonly [value: V, text: ComponentChildren])[]
}) => (
  <fieldset class="ticks">
    <legend>{of.label}</legend>
    {of.options.map(([value, text]) => (
      <label key={value}>
        <input
          type="checkbox"
          checked={of.value.value.includes(value)}
          onChange={(event) => {
            const others = of.value.value.filter((one) => one !== value)
            of.value.value = event.currentTarget.checked ? [...others, value] : others
          }}
        />
        <span>{text}</span>
      </label>
    ))}
  </fieldset>
)
