import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'

const folder = import.meta.dirname

/** A number, a text, or a choice of which one suffices. */
export type Item = number | string | { any: (number | string)[] }

export interface Call {
  tool: string
  /** Arguments that the call must have, no more and no fewer; undefined: any. */
  input?: Record<string, unknown>
}

/** What a person asks, and what is true. Without `clarify`, `calls` and `confirm`, the answer must hold `all`, `file`, `shown` or `reply`. */
export interface Turn {
  ask: string
  /** What the answer must hold; `or` is another set that does as well. */
  all?: Item[]
  or?: Item[]
  /** What a right answer must not hold, such as the total without the filter. */
  none?: Item[]
  /** Rows of the answer's table, or points of its list. */
  rows?: number
  /** `all` stands in this order. */
  ordered?: true
  /** Number of questions in the question; lengthens the part of the text that counts. */
  parts?: number
  /** Calls of `write` tools that the person ordered, and calls that are tolerated. Others are unordered. */
  calls?: Call[]
  may?: Call[]
  /** The person confirms: what the turn before ordered and did not get is ordered now. */
  confirm?: true
  /** Asking back, or an honest refusal, is right. */
  clarify?: true
  /** Small talk: a short text without data is right. */
  reply?: true
  /** A file of the answer: the end of its name or the start of its type, and what it must hold. */
  file?: { name?: string; type?: string; all?: Item[] }
  /** What the inputs and outputs of the tool calls must hold, for pictures. */
  shown?: number[]
  /** Queries over the files of the set-up that yield `all`, `or`, `file.all` and `shown`. */
  sql?: string
  or_sql?: string
  file_sql?: string
  shown_sql?: string
}

export interface Conversation {
  kind: string
  turns: Turn[]
}

/** Files of questions. `shop-writing` names or alludes to tools that change something. */
export const questionFiles = ['samples', 'shop-reading', 'shop-writing'] as const
export type QuestionFile = (typeof questionFiles)[number]

/** Folders of the five sets, which have files of the same names. */
export const setFolders = { first: '.', second: 'second', third: 'third', fourth: 'fourth', fifth: 'fifth' } as const
export type QuestionSet = keyof typeof setFolders

/** Reads the conversations of a file. A single question is a conversation of one turn. */
export function readQuestions(file: QuestionFile, set: QuestionSet): Conversation[] {
  const entries = parse(readFileSync(path.join(folder, fileName(file, set)), 'utf8')) as (Turn & Partial<Conversation> & { kind: string })[]
  return entries.map(({ kind, turns, ...turn }) => ({ kind, turns: turns ?? [turn] }))
}

/** Hash of a set's questions and of the shop: its data, policies, tools and configuration. */
export function hashQuestions(set: QuestionSet): string {
  const shop = readdirSync(path.join(folder, 'shop'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
  const hash = createHash('sha256')
  for (const name of [...questionFiles.map((file) => fileName(file, set)), ...shop].sort())
    hash.update(`${name}\n`).update(readFileSync(path.join(folder, name)))
  return hash.digest('hex')
}

function fileName(file: QuestionFile, set: QuestionSet): string {
  return path.join(setFolders[set], `${file}.yaml`)
}
