import { sql, type RawBuilder } from 'kysely'

/**
 * True when a text column contains each of the words, in any case. Patterns list the cases of each letter: the databases' own comparison
 * without case depends on the locale on Postgres, and covers only ASCII on SQLite.
 */
export function containsWords(column: RawBuilder<unknown>, words: readonly string[], isPostgres: boolean): RawBuilder<boolean> {
  const contains = words.map((word) => {
    if (isPostgres) return sql`${column} ~ ${toRegularExpression(word)}`
    // LIKE is several times as fast as GLOB, but ignores the case of ASCII only.
    const likely = sql`${column} like ${toLike(longestAscii(word))} escape '\\'`
    return longestAscii(word) === word ? likely : sql`${likely} and ${column} glob ${toGlob(word)}`
  })
  return sql<boolean>`(${sql.join(contains, sql` and `)})`
}

/** The longest part of a word without other characters than ASCII; empty if there is none. */
function longestAscii(word: string): string {
  return word.split(/[^\x20-\x7e]/).reduce((longest, part) => (part.length > longest.length ? part : longest), '')
}

/** A pattern of SQLite's LIKE for texts that contain the word. */
function toLike(word: string): string {
  return `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`
}

/** A pattern of SQLite's GLOB for texts that contain the word. */
function toGlob(word: string): string {
  return `*${patternOf(word, (character) => ('*?['.includes(character) ? `[${character}]` : character))}*`
}

/** A regular expression of Postgres that finds the word. */
function toRegularExpression(word: string): string {
  return patternOf(word, (character) => (/[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character))
}

function patternOf(word: string, escape: (character: string) => string): string {
  return Array.from(word, (character) => {
    const cases = casesOf(character)
    return cases.length > 1 ? `[${cases.join('')}]` : escape(character)
  }).join('')
}

/** The character and its other case. A case of several characters, such as SS for ß, is left out. */
function casesOf(character: string): string[] {
  const cases = [character, character.toLowerCase(), character.toUpperCase()].filter((text) => text.length === character.length)
  return [...new Set(cases)]
}
