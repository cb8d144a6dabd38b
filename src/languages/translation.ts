/** The types with which the compiler compares a catalogue with the English one. */
import type { en } from './en.ts'
import type { MessageOf, MessageSource, PlaceholdersOf } from './message.ts'

type English = typeof en
type GroupName = keyof English

/** The messages of a language, by group and key. */
export type Catalogue = {
  readonly [G in GroupName]: {
    readonly [K in keyof English[G]]: English[G][K] extends MessageSource
      ? MessageOf<English[G][K]>
      : never
  }
}

type Source = Readonly<Record<string, Readonly<Record<string, MessageSource>>>>

type KindOf<M extends MessageSource> = M extends string ? 'text' : 'plural forms'

/** The message itself if it has the kind and the placeholders of the English message. */
type Compared<M, E> = M extends MessageSource
  ? E extends MessageSource
    ? [KindOf<M>, PlaceholdersOf<M>, PlaceholdersOf<E>] extends [
        KindOf<E>,
        PlaceholdersOf<E>,
        PlaceholdersOf<M>,
      ]
      ? M
      : { readonly kind: KindOf<E>; readonly placeholders: PlaceholdersOf<E> }
    : never
  : never

/** All messages of the English catalogue, with the messages of T compared. */
type Complete<T> = {
  readonly [G in GroupName]: {
    readonly [K in keyof English[G]]: G extends keyof T
      ? K extends keyof T[G]
        ? Compared<T[G][K], English[G][K]>
        : MessageSource
      : MessageSource
  }
}

/** Forbids the keys of T that the English catalogue does not have. */
type NoOthers<T> = {
  readonly [G in keyof T]: G extends GroupName
    ? { readonly [K in keyof T[G]]: K extends keyof English[G] ? MessageSource : never }
    : never
}

/**
 * Returns a catalogue. It does not compile if a key is missing or unknown, or if a message has
 * other placeholders than the English message.
 */
export const translation = <const T extends Source>(
  messages: T & Complete<T> & NoOthers<T>,
): Catalogue => messages as unknown as Catalogue
