/** The types with which the compiler compares a catalogue with the English one. */
import type { en } from './en.ts'
import type { MessageOf, MessageSource, PlaceholdersOf } from './message.ts'

type Source = Readonly<Record<string, Readonly<Record<string, MessageSource>>>>

/** The messages of a language, by group and key. */
export type CatalogueOf<English extends Source> = {
  readonly [G in keyof English]: {
    readonly [K in keyof English[G]]: English[G][K] extends MessageSource
      ? MessageOf<English[G][K]>
      : never
  }
}

/** The messages of pages and letters in a language. */
export type Catalogue = CatalogueOf<typeof en>

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
type Complete<T, English> = {
  readonly [G in keyof English]: {
    readonly [K in keyof English[G]]: G extends keyof T
      ? K extends keyof T[G]
        ? Compared<T[G][K], English[G][K]>
        : MessageSource
      : MessageSource
  }
}

/** Forbids the keys of T that the English catalogue does not have. */
type NoOthers<T, English> = {
  readonly [G in keyof T]: G extends keyof English
    ? { readonly [K in keyof T[G]]: K extends keyof English[G] ? MessageSource : never }
    : never
}

/**
 * Returns the function that makes a catalogue with the keys of an English one. A call does not
 * compile if a key is missing or unknown, or if a message has other placeholders than the English
 * message.
 */
export const translationOf =
  <English extends Source>() =>
  <const T extends Source>(
    messages: T & Complete<T, English> & NoOthers<T, English>,
  ): CatalogueOf<English> =>
    messages as unknown as CatalogueOf<English>

/** Makes a catalogue of pages and letters. */
export const translation = translationOf<typeof en>()
