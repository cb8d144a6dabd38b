/** The types of events, as callers choose them. */
import { EVENT_TYPES, type EventType } from './catalogue.ts'

/** Returns whether a choice means a type: that one, or with `connection.*` all that begin so. */
export const isChosen = (wanted: string, type: string): boolean =>
  wanted.endsWith('.*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted

/** Returns the types that a choice means. */
export const typesMatching = (wanted: string): EventType[] =>
  EVENT_TYPES.filter((type) => isChosen(wanted, type))

/** Returns whether a type, or a choice of types, is of organisations. Only `full` may read them. */
export const isOfOrganisation = (type: string): boolean => type.startsWith('org.')

/** The choice of all types that are not of organisations. */
export const TYPES_WITHOUT_ORGANISATIONS = [
  ...new Set(
    EVENT_TYPES.filter((type) => !isOfOrganisation(type)).map((type) =>
      type.replace(/\.\w+$/, '.*'),
    ),
  ),
].join()

/** Returns the message for a choice that matches no type. */
export const noSuchType = (wanted: string): string =>
  `There are no events of the type "${wanted}". GET /api/v1/openapi.json ("countersignd events --help") lists all types.`
