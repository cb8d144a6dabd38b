import type { Migration } from '../../storage/migrations.ts'

/**
 * The last answers of the account server to reads, for the time in which it does not answer. `size`
 * precedes the answer, so that summing it up does not read the answers.
 */
export const stateVersion19: Migration<string> = {
  version: 19,
  statements: `
  create table copies (
    route text not null,
    input text not null,
    at integer not null,
    size integer not null,
    answer text not null,
    primary key (route, input)
  ) strict, without rowid;
  create index copies_by_age on copies (at);
  `,
}
