import type { JsonObject, JsonSchema, JsonValue } from '../../agent/messages.ts'
import { findExpression } from './expression.ts'
import { findTimeZone } from './time-zones.ts'
import { stem, wordsOf } from './words.ts'

/** Fills the input of a tool from the words of a request, using the name and schema of each parameter. */

export interface FilledArguments {
  input: JsonObject
  /** Parameters with a value from the text, except free-text parameters. */
  filledNames: string[]
}

interface Property extends JsonSchema {
  type?: unknown
  enum?: unknown[]
  format?: string
}

export const freeTextNames =
  /^(query|question|q|search|search_?query|keywords?|topic|terms?|text|task|message|prompt|input|content|request|instructions?)$/i

/** Fills the input; undefined if a required parameter has no value. */
export function fillArguments(schema: JsonSchema, text: string): FilledArguments | undefined {
  const properties = (schema['properties'] ?? {}) as Record<string, Property>
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as string[]) : [])
  const input: JsonObject = {}
  const filledNames: string[] = []
  for (const [name, property] of Object.entries(properties)) {
    const value = valueOf(name, property, text, required.has(name))
    if (value !== undefined) {
      input[name] = value
      if (!freeTextNames.test(name)) filledNames.push(name)
    } else if (required.has(name)) return undefined
  }
  return { input, filledNames }
}

function valueOf(name: string, property: Property, text: string, isRequired: boolean): JsonValue | undefined {
  if (property['const'] !== undefined) return isRequired ? (property['const'] as JsonValue) : undefined
  if (Array.isArray(property.enum)) return enumValue(property.enum, text)
  const type = Array.isArray(property.type) ? property.type[0] : property.type
  if (type === 'boolean') return booleanValue(name, text)
  if (type === 'integer' || type === 'number') return numberValue(name, type, text, isRequired)
  if (type === 'array') return isRequired ? listValue(property, text) : undefined
  return type === 'string' || type === undefined ? textValue(name, property, text, isRequired) : undefined
}

function enumValue(values: unknown[], text: string): JsonValue | undefined {
  const stems = wordsOf(text).map(stem).join(' ')
  const fits = (value: unknown) => ` ${stems} `.includes(` ${wordsOf(String(value)).map(stem).join(' ')} `)
  return values.find((value) => (typeof value === 'string' || typeof value === 'number') && fits(value)) as JsonValue | undefined
}

function booleanValue(name: string, text: string): boolean | undefined {
  const words = wordsOf(text)
  const stems = words.map(stem)
  const at = wordsOf(name)
    .map((word) => stems.indexOf(stem(word)))
    .find((index) => index >= 0)
  return at === undefined ? undefined : !/^(no|not|without|never)$/.test(words[at - 1] ?? '')
}

const limitNames = /^(limit|top|top_?k|max|max_?results|count|n|size|page_?size)$/i

function numberValue(name: string, type: string, text: string, isRequired: boolean): number | undefined {
  const plain = text.replace(/(\d),(?=\d{3}\b)/g, '$1')
  const spoken =
    wordsOf(name)
      .filter((word) => word !== 'id')
      .join('\\W+') || 'id'
  const near = new RegExp(
    `\\b${spoken}s?(?:\\W+(?:id|number|no|nr))?(?:\\s*(?:is|of|=|:|#|at|from))?\\s*#?(-?\\d+(?:\\.\\d+)?)|(-?\\d+(?:\\.\\d+)?)\\s+${spoken}`,
    'i',
  ).exec(plain)
  const limit = limitNames.test(name)
    ? /\b(?:top|first|at most|up to|limit)\s+(\d+)|\b(\d+)\s+(?:results|passages|hits|matches)\b/i.exec(plain)
    : null
  const firstNumber = isRequired ? /-?\d+(?:\.\d+)?/.exec(plain) : null
  const digits = limit?.[1] ?? limit?.[2] ?? near?.[1] ?? near?.[2] ?? firstNumber?.[0]
  if (digits === undefined) return undefined
  const value = Number(digits)
  return type === 'integer' && !Number.isInteger(value) ? undefined : value
}

function listValue(property: Property, text: string): JsonValue | undefined {
  const items = property['items'] as Property | undefined
  if (items?.type === 'number' || items?.type === 'integer') {
    const numbers = text.replace(/(\d),(?=\d{3}\b)/g, '$1').match(/-?\d+(?:\.\d+)?/g)
    return numbers ? numbers.map(Number) : undefined
  }
  const quoted = quotedIn(text)
  return quoted.length > 0 ? quoted : undefined
}

function textValue(name: string, property: Property, text: string, isRequired: boolean): string | undefined {
  if (/^expression$|formula/i.test(name)) return findExpression(text)?.expression
  if (/time_?zone|^tz$/i.test(name)) return findTimeZone(text)
  if (/url|uri|link/i.test(name) || property.format === 'uri') return /https?:\/\/[^\s"'<>]+[^\s"'<>.,;:!?)]/.exec(text)?.[0]
  if (/e?mail/i.test(name) || property.format === 'email') return /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(text)?.[0]
  if (property.format === 'date' || /(^|_)date$|^(from|to|since|until)$/i.test(name)) return /\b\d{4}-\d{2}-\d{2}\b/.exec(text)?.[0]
  if (/path|file|folder|directory|dir$/i.test(name)) return pathIn(text) ?? (isRequired ? undefined : folderIn(text))
  if (freeTextNames.test(name)) return isRequired ? toTopic(text, name) : undefined
  return namedValue(name, text) ?? (isRequired ? (quotedIn(text)[0] ?? objectOf(text)) : undefined)
}

function pathIn(text: string): string | undefined {
  const quoted = quotedIn(text).find((value) => /[./]/.test(value) && !/\s{2}|[?!]$/.test(value))
  if (quoted) return quoted
  const plain = text.replace(/https?:\/\/\S+|\S+@\S+/g, ' ')
  return /(?<![\w/])(?:[\w-]+\/)*[\w-]+\.[a-z][a-z0-9]{1,4}\b|(?<![\w/])[\w-]+(?:\/[\w.-]+)+\/?/.exec(plain)?.[0]
}

function folderIn(text: string): string | undefined {
  return (
    /\b(?:in|under|inside|of)\s+(?:the\s+)?["'`]?([\w.-]+)["'`]?\s+(?:folder|directory)\b/i.exec(text)?.[1] ??
    /\bfiles?\b.*\b(?:in|under|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+)?["'`]?([\w./-]*\w)["'`]?\W*$/i.exec(text)?.[1]
  )
}

function quotedIn(text: string): string[] {
  return [...text.matchAll(/"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)/g)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? match[4] ?? '',
  )
}

/** Finds values such as `city: Paris`, `order number A-17` and `named Ada`. */
function namedValue(name: string, text: string): string | undefined {
  const spoken = wordsOf(name)
    .filter((word) => word !== 'id')
    .join('\\W+')
  if (!spoken) return undefined
  const marked = new RegExp(
    `\\b${spoken}\\b\\s*(?:id|number|is|=|:|called|named)?\\s*["'“]?((?=[^\\s"'“”]*[\\p{Lu}\\d])[\\p{L}\\d][\\p{L}\\d_.-]*)`,
    'iu',
  ).exec(text)?.[1]
  if (marked && /[\p{Lu}\d]/u.test(marked)) return marked.replace(/[.]$/, '')
  return /^name$|_name$/i.test(name) ? /\b(?:called|named)\s+["'“]?([\p{L}\d_-]+)/u.exec(text)?.[1] : undefined
}

/** The subject of a request: the words after its last preposition, or a word written like a name or a number. */
function objectOf(text: string): string | undefined {
  const plain = text.replace(/(?<![?!.])[?!.]+$/, '')
  const name =
    /\b(?:in|for|of|about|from|to|at|on|called|named|with)\s+(?:the\s+)?([\p{Lu}\d][\p{L}\d_-]*(?:\s+\p{Lu}[\p{L}\d_-]*)*)/u.exec(
      plain,
    )?.[1]
  return name ?? /(?<=\s)(?=[\p{L}_-]*\d)[\p{L}\d][\p{L}\d_-]*|(?<=\s)\p{Lu}[\p{L}\d_-]+(?:\s+\p{Lu}[\p{L}\d_-]+)*/u.exec(plain)?.[0]
}

const leadIns = [
  /^(?:please\s+|can you\s+|could you\s+|would you\s+)+/i,
  /^(?:and\s+|so\s+)?(?:what|how) about\s+(?:the\s+)?/i,
  /^what (?:does|do|did) (?:the |our |my )?[\w\s-]{1,40}? (?:say|state|tell(?: us)?|mention)(?: about| on| regarding)?\s+/i,
  /^(?:according to|in) (?:the |our )?[\w-]+,?\s+/i,
  /^(?:search|look|check|query)(?: up| through| in)? (?:the |our |my )?[\w-]+ (?:for|about|on)\s+/i,
  /^(?:search|look)(?: up| for)?\s+(?:for\s+)?/i,
  /^(?:tell me|find(?: out)?(?: something| anything)?|show me|give me|explain(?: to me)?)(?: about| what| everything about)?\s+(?:the handbook says about\s+)?/i,
]

/** Removes words that only address the tool from a request. */
export function toTopic(text: string, name = 'query'): string {
  let topic = text.trim()
  if (/^(query|q|search|keywords?|topic|terms?|search_?query)$/i.test(name)) for (const leadIn of leadIns) topic = topic.replace(leadIn, '')
  else topic = topic.replace(/^(?:please\s+)?(?:ask|tell|have|let)\s+(?:the\s+)?[\w-]+(?:\s+agent)?\s+(?:to|about)\s+/i, '')
  topic = topic.replace(/(?<![?!.\s])[?!.\s]+$/, '').trim()
  return topic === '' ? text.trim() : topic
}
