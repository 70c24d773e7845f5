import { sql, type RawBuilder } from 'kysely'

/** Name of the function that every SQLite connection for reading has; see `hasWord`. */
export const wordFunction = 'has_word'

/**
 * True when a text column contains each of the words, in any case. The databases' own comparison without case depends on the locale on
 * Postgres, and covers only ASCII on SQLite; SQLite's LIKE and GLOB also take time by the product of both lengths.
 */
export function containsWords(column: RawBuilder<unknown>, words: readonly string[], isPostgres: boolean): RawBuilder<boolean> {
  const contains = words.map((word) => {
    return isPostgres ? sql`${column} ~ ${toRegularExpression(word)}` : sql`${sql.raw(wordFunction)}(${column}, ${word.toLowerCase()})`
  })
  return sql<boolean>`(${sql.join(contains, sql` and `)})`
}

/** Whether a text contains a word in lower case: 1 or 0, for SQLite. */
export function hasWord(text: unknown, word: unknown): number {
  return typeof text === 'string' && text.toLowerCase().includes(String(word)) ? 1 : 0
}

/** A regular expression of Postgres that finds the word. Its characters have both cases. */
function toRegularExpression(word: string): string {
  return Array.from(word, (character) => {
    const cases = casesOf(character)
    if (cases.length > 1) return `[${cases.join('')}]`
    return /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character
  }).join('')
}

/** The character and its other case. A case of several characters, such as SS for ß, is left out. */
function casesOf(character: string): string[] {
  const cases = [character, character.toLowerCase(), character.toUpperCase()].filter((text) => text.length === character.length)
  return [...new Set(cases)]
}
