import type { JsonValue } from '../../agent/messages.ts'
import { toStableJson } from '../../configuration/parse.ts'
import { isDeeper, isObject, maxJsonDepth, parseJson } from '../../json/shape.ts'
import { LinearPattern } from './linear-pattern.ts'
import { maxScored, whole, type Measured, type ScorerKind, type Subject } from './scorer.ts'

type Kind<K extends ScorerKind['kind']> = Extract<ScorerKind, { kind: K }>

export function exact({ expected, ignore_case: ignoresCase }: Kind<'exact'>, subject: Subject): Measured {
  const expectation = expected ?? subject.expected['output']
  if (expectation === undefined) return { score: 0, reason: 'Neither the scorer nor the example says what is expected.' }
  if (typeof expectation !== 'string')
    return isEqual(valueIn(subject.output), expectation) ? whole : { score: 0, reason: 'The answer is another value.' }
  const [output, expectedText] = [subject.output, expectation].map((text) => fold(text.trim(), ignoresCase))
  return output === expectedText ? whole : { score: 0, reason: 'The answer is another text.' }
}

export function contains({ texts, ignore_case: ignoresCase }: Kind<'contains'>, subject: Subject): Measured {
  const expectation = texts ?? textsIn(subject.expected['contains'])
  if (expectation.length === 0) return { score: 0, reason: 'Neither the scorer nor the example says what the answer is to contain.' }
  const output = fold(subject.output, ignoresCase)
  const missing = expectation.filter((text) => !output.includes(fold(text, ignoresCase)))
  if (missing.length === 0) return whole
  return {
    score: 1 - missing.length / expectation.length,
    reason: `The answer does not contain ${cut(missing.map((text) => JSON.stringify(text)).join(', '))}.`,
  }
}

export async function regex({ pattern, ignore_case: ignoreCase = false }: Kind<'regex'>, { output }: Subject): Promise<Measured> {
  const text = output.slice(0, maxScored)
  return (await new LinearPattern(pattern, { ignoreCase }).test(text))
    ? whole
    : { score: 0, reason: 'The pattern does not match the answer.' }
}

export function jsonPath({ path, equals }: Kind<'json_path'>, { output }: Subject): Measured {
  const value = valueIn(output)
  if (value === undefined) return { score: 0, reason: 'The answer is not JSON.' }
  const member = namesIn(path).reduce<unknown>(memberOf, value)
  if (member === undefined) return { score: 0, reason: `The answer has no value at ${path}.` }
  return equals === undefined || isEqual(member, equals)
    ? whole
    : { score: 0, reason: `The value at ${path} is ${cut(JSON.stringify(member))}.` }
}

/** The JSON value of an answer, which may stand in a Markdown fence; undefined for other text. */
export function valueIn(output: string): unknown {
  const text = output.slice(0, maxScored).trim()
  const fenced = /^```\w*\n/.test(text) && text.endsWith('```') ? text.slice(text.indexOf('\n') + 1, -3) : text
  const value = parseJson(fenced)
  return isDeeper(value, maxJsonDepth) ? undefined : value
}

/** The names in a path such as `$.items[0]['a b']`. Throws an `Error` for another form. */
export function namesIn(path: string): (string | number)[] {
  const names: (string | number)[] = []
  const part = /\.([A-Za-z_][\w-]*)|\[(\d{1,9})\]|\['([^']*)'\]/y
  part.lastIndex = path.startsWith('$') ? 1 : 0
  while (part.lastIndex < path.length) {
    const [member, name, index, quoted] = part.exec(path) ?? []
    if (member === undefined || !path.startsWith('$')) throw new Error(`the path is not of the form $.name[0]['name']`)
    names.push(index === undefined ? (name ?? quoted ?? '') : Number(index))
  }
  return names
}

function memberOf(value: unknown, name: string | number): unknown {
  if (typeof name === 'number') return Array.isArray(value) ? (value as unknown[])[name] : undefined
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function textsIn(value: JsonValue | undefined): string[] {
  return [value].flat().filter((text) => typeof text === 'string')
}

function isEqual(a: unknown, b: JsonValue): boolean {
  return a !== undefined && toStableJson(a) === toStableJson(b)
}

function fold(text: string, ignoresCase = false): string {
  return ignoresCase ? text.toLowerCase() : text
}

function cut(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200).toWellFormed()}…`
}
