import type { JsonObject, JsonSchema, JsonValue } from '../src/agent/messages.ts'
import { listed, named } from '../src/json/schema/schema-nodes.ts'
import {
  claimText,
  claimed,
  codeIn,
  dateValue,
  isPath,
  jsonIn,
  labelledNumber,
  numberOf,
  objectOf,
  openNumbers,
  prefixOf,
  quotedIn,
  statedText,
  textBehindColon,
  toTopic,
  urlIn,
  type Request,
} from './argument-words.ts'
import { findExpression } from './expression.ts'
import { claim, isNumber, withDigits } from './language/phrases.ts'
import { readWords, setOf, stem, wordsOf, type Word } from './language/words.ts'
import { findTimeZone } from './time-zones.ts'

/** Fills the input of a tool from the words of a request, by the name and the schema of each parameter. Claims the words. */

export interface FilledArguments {
  input: JsonObject
  /** Parameters with a value in the request: by the parameter's name, unit, pattern or form. All other parameters are guessed. */
  stated: string[]
  /** Required parameters without a value. */
  missing: string[]
}

type ReadValue = (name: string, property: JsonSchema, request: Request) => JsonValue | undefined

/** Characters that are read word by word. A longer request contains a text. */
const maxRequest = 2_400

/** Reads the input from words. With `isNamed` the request names the tool, so that JSON, code and quotes in it are its input. */
export function fillArguments(
  schema: JsonSchema,
  text: string,
  { words = readWords(withDigits(text.slice(0, maxRequest))), isNamed = false }: { words?: readonly Word[]; isNamed?: boolean } = {},
): FilledArguments {
  const required = listed(schema, 'required').map(String)
  const properties = Object.entries(named(schema, 'properties')) as [string, JsonSchema][]
  const json = isNamed ? jsonIn(text) : undefined
  const isWhole =
    json && required.every((name) => name in json) && Object.keys(json).every((key) => properties.some(([name]) => name === key))
  if (isWhole) return { input: json, stated: Object.keys(json), missing: [] }
  // Names inside of the JSON are not names of parameters.
  const spoken = json ? text.slice(0, text.indexOf('{')) + text.slice(text.lastIndexOf('}') + 1) : text
  const values = new Map<string, JsonValue>()
  const stated: string[] = []
  // Stated values first, so that a guess takes only what is left.
  // Numbers have a unit, so they take the "15" of "a code of 15 percent" before a text does.
  const ordered = properties.toSorted(([, a], [, b]) => Number(isNumeric(b)) - Number(isNumeric(a)))
  for (const read of [pairValue, statedValue, onlyValue, guessedValue] satisfies ReadValue[])
    for (const [name, property] of read === statedValue ? ordered : properties) {
      const isOpen = !values.has(name) && (read === pairValue || read === statedValue || required.includes(name))
      const isOnly = isNamed && required.length === 1
      const value = isOpen && (read !== onlyValue || isOnly) ? read(name, property, { text: spoken, words, json }) : undefined
      if (value === undefined) continue
      values.set(name, value)
      if (read !== guessedValue) stated.push(name)
    }
  const input = Object.fromEntries(properties.flatMap(([name]) => (values.has(name) ? [[name, values.get(name)!]] : [])))
  return { input, stated, missing: required.filter((name) => !values.has(name)) }
}

/** The only required text of a named tool. */
function onlyValue(name: string, property: JsonSchema, { text }: Request): JsonValue | undefined {
  if (typeOf(property) !== 'string' || Array.isArray(property['enum'])) return undefined
  const url = /ur[il]|link/i.test(name) ? urlIn(text) : undefined
  return url ?? codeIn(text)?.code ?? quotedIn(text) ?? textBehindColon(text)
}

function isNumeric(property: JsonSchema): boolean {
  return ['integer', 'number'].includes(String(typeOf(property)))
}

export function typeOf(property: JsonSchema | undefined): unknown {
  return [property?.['type'] ?? 'string'].flat()[0]
}

/** `name: value`, `name=value` and `name "value"`. */
function pairValue(name: string, property: JsonSchema, { text, words }: Request): JsonValue | undefined {
  const spoken = [name, wordsOf(name).join(' ')].map((spelling) => RegExp.escape(spelling)).join('|')
  const value = `("(?:[^"\\\\]|\\\\.)*"|“[^”]*”|\`[^\`]*\`|'[^']*'|\\[[^\\]]*\\]|[^\\s,;]+)`
  const pair = new RegExp(`(?<![\\w-])["'\`]?(?:${spoken})["'\`]?(?:\\s*[:=]\\s*|\\s+(?=["“\`[]))${value}`, 'i').exec(text)
  if (!pair?.[1]) return undefined
  claimText(pair[0], words)
  return toValue(pair[1], typeOf(property))
}

function toValue(raw: string, type: unknown): JsonValue | undefined {
  const plain = /^["“`'].*["”`']$/s.test(raw) ? raw.slice(1, -1).replace(/\\(["\\])/g, '$1') : raw
  if (type === 'integer' || type === 'number') return plain !== '' && Number.isFinite(Number(plain)) ? Number(plain) : undefined
  if (type === 'boolean') return /^(true|yes|on)$/i.test(plain) ? true : /^(false|no|off)$/i.test(plain) ? false : undefined
  if (type !== 'array' && type !== 'object') return raw === plain ? plain.replace(/[.!?]$/, '') : plain
  try {
    return JSON.parse(raw) as JsonValue
  } catch {
    return undefined
  }
}

/** Parameters whose values have a form, by a word of the name or by the format. */
const forms: [names: string, read: (request: Request, parts: readonly string[]) => string | undefined][] = [
  ['expression formula', ({ text }) => findExpression(text)?.expression],
  ['timezone tz', ({ text }) => findTimeZone(text)],
  ['url uri link', ({ text }) => urlIn(text)],
  ['email mail', ({ words }) => claimed(words.find(({ lower, use }) => lower.includes('@') && !use))],
  ['date from to since until', dateValue],
  ['path file folder directory', ({ words }) => claimed(words.find(({ text }) => isPath(text)))],
]

function formOf(name: string, { format }: JsonSchema) {
  const parts = [...wordsOf(name), wordsOf(name).join(''), format]
  return forms.find(([names]) => names.split(' ').some((part) => parts.includes(part)))?.[1]
}

const freeTexts = setOf(
  'query question q search searchquery keyword keywords topic term terms text task message prompt input content request instruction note body',
)

export function isFreeText(name: string): boolean {
  return freeTexts.has(wordsOf(name).join(''))
}

function statedValue(name: string, property: JsonSchema, request: Request): JsonValue | undefined {
  if (property['const'] !== undefined) return undefined
  if (Array.isArray(property['enum']))
    return property['enum'].find((value) => findStems(wordsOf(String(value)), request.words)) as JsonValue
  const type = typeOf(property)
  if (type === 'boolean') return booleanValue(name, request)
  if (type === 'integer' || type === 'number') return labelledNumber(name, property, request)
  if (type === 'object') return request.json
  if (type !== 'string') return undefined
  const form = formOf(name, property)
  if (form) return form(request, wordsOf(name))
  if (!isFreeText(name)) return statedText(wordsOf(name), property, request)
  const literal = quotedIn(request.text) ?? textBehindColon(request.text)
  if (literal !== undefined) claimText(literal, request.words)
  return literal
}

function guessedValue(name: string, property: JsonSchema, { text, words }: Request): JsonValue | undefined {
  const type = typeOf(property)
  if (property['const'] !== undefined) return property['const'] as JsonValue
  if (type === 'array') return listValue(property, { text, words })
  if (type === 'integer' || type === 'number') return numberOf(openNumbers(property, words)[0])
  if (type !== 'string' || Array.isArray(property['enum']) || formOf(name, property) || prefixOf(property) !== '') return undefined
  return isFreeText(name) ? toTopic(text) : (quotedIn(text) ?? objectOf(words))
}

/** Claims the words of a name in the request; true if the request has them. */
function findStems(name: readonly string[], words: readonly Word[]): boolean {
  const at = words.findIndex((_, index) => name.every((part, offset) => words[index + offset]?.stem === stem(part)))
  if (at >= 0) claim(words.slice(at, at + name.length), 'argument')
  return at >= 0 && name.length > 0
}

function booleanValue(name: string, { words }: Request): boolean | undefined {
  const stems = wordsOf(name).map(stem)
  const at = words.findIndex((word) => stems.includes(word.stem))
  if (at < 0) return undefined
  claim([words[at]!], 'argument')
  return !['no', 'not', 'without', 'never'].includes(words[at - 1]?.lower ?? '')
}

function listValue(property: JsonSchema, { words, text }: Request): JsonValue | undefined {
  const type = typeOf(property['items'] as JsonSchema | undefined)
  const quoted = quotedIn(text)
  if (type !== 'number' && type !== 'integer') return quoted === undefined ? undefined : [quoted]
  const numbers = words.filter(isNumber)
  return numbers.length > 0 ? numbers.map((word) => numberOf(word)!) : undefined
}
