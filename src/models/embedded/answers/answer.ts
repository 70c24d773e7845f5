import type { JsonObject, JsonValue, ToolMessage } from '../../../agent/messages.ts'
import { toTopic } from '../arguments.ts'
import { toSections } from '../question.ts'
import { stemsOf } from '../words.ts'
import { answerFromTexts } from './given.ts'
import { describeJson } from './json.ts'
import { describeOutput } from './made.ts'
import { formatResult } from './numbers.ts'
import { cut, quotePassages, type Passage } from './passages.ts'
import { scopeOf, describeRows, type Rows } from './rows.ts'
import { isObject } from '../../../json/shape.ts'

/** Longer text is cut. */
const maxCharacters = 4_000

/** Describes the result of a tool. `request` is the question, `input` the input of the call. */
export function describeResult(request: string, input: JsonObject, result: ToolMessage): string {
  const output = parse(result.text)
  if (result.isError) return describeError(result, output)
  if (typeof output === 'string') return describeText(request, output)
  if (!isObject(output)) return describeJson(output)
  if (isRows(output)) return describeRows(output, typeof input['sql'] === 'string' ? scopeOf(input['sql']) : '')
  if (isPassages(output)) return describePassages(request, input, result.name, output.passages)
  const description = describeOutput(request, output)
  if (description !== undefined) return description
  if (Array.isArray(output['files'])) return describeFiles(output['files'], input)
  if (typeof output['time'] === 'string') return describeTime(output['time'], output)
  if (typeof output['path'] === 'string' && typeof output['text'] === 'string')
    return describeFile(request, output['path'], output['text'], output)
  if (typeof output['artifact_id'] === 'string' && typeof output['file_name'] === 'string')
    return `I made the file \`${output['file_name']}\` (${String(output['size'])} bytes).`
  const keys = Object.keys(output)
  if ('result' in output && keys.every((key) => key === 'result' || key === 'expression'))
    return describeCalculation(request, input, output['result'])
  return describeJson(output)
}

function parse(text: string): JsonValue {
  if (!/^\s*[[{"\d-]|^\s*(true|false|null)\s*$/.test(text)) return text
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

function isRows(output: JsonObject): output is JsonObject & Rows {
  return Array.isArray(output['columns']) && Array.isArray(output['rows'])
}

function isPassages(output: JsonObject): output is JsonObject & { passages: Passage[] } {
  const passages = output['passages']
  return Array.isArray(passages) && passages.every((passage) => isObject(passage) && typeof passage['text'] === 'string')
}

function describeError(result: ToolMessage, output: JsonValue): string {
  const message =
    isObject(output) && typeof output['error'] === 'string' ? output['error'] : typeof output === 'string' ? output : result.text
  return `The tool \`${result.name}\` could not do that: ${cut(message.trim(), 600)}`
}

function describePassages(request: string, input: JsonObject, name: string, results: Passage[]): string {
  const topic = typeof input['query'] === 'string' ? input['query'] : toTopic(request)
  if (results.length === 0) return `I found nothing about “${topic}” with ${name}.`
  const passages = results.map(({ file, heading, text }) => ({ file: file ?? '', heading: heading ?? '', text }))
  const quotes = quotePassages(topic, passages)
  if (quotes) return quotes
  const nearest = passages[0]!
  return `I found nothing in ${name} that speaks of that directly. The nearest is:\n\n**${nearest.heading || nearest.file}** (\`${nearest.file}\`)\n\n${cut(nearest.text.trim(), 600)}`
}

function describeFiles(files: JsonValue[], input: JsonObject): string {
  const where = typeof input['path'] === 'string' && input['path'] !== '' ? ` in \`${input['path']}\`` : ''
  if (files.length === 0) return `There are no files${where}.`
  const names = files.map((file) =>
    isObject(file) ? String(file['path'] ?? file['name'] ?? file['file'] ?? JSON.stringify(file)) : String(file),
  )
  const ending = names.length > 100 ? `\n\n… and ${names.length - 100} more.` : ''
  return `There ${names.length === 1 ? 'is 1 file' : `are ${names.length} files`}${where}:\n\n${names
    .slice(0, 100)
    .map((name) => `- \`${name}\``)
    .join('\n')}${ending}`
}

const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December']

function describeTime(time: string, output: JsonObject): string {
  const [, year, month, day, hour, minute, offset] =
    /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::[\d.]+)?\s*(Z|[+-]\d{2}:?\d{2})?/.exec(time) ?? []
  const zone = typeof output['timezone'] === 'string' ? output['timezone'] : ''
  if (!year) return `It is ${time}${zone && ` (${zone})`}.`
  const weekday = typeof output['weekday'] === 'string' ? `${output['weekday']}, ` : ''
  const shift = offset && offset !== 'Z' && !/^[+-]00:?00$/.test(offset) ? `UTC${offset}` : zone === 'UTC' ? '' : 'UTC'
  const zoneText = [zone.replaceAll('_', ' '), shift].filter(Boolean).join(', ')
  return `It is **${hour}:${minute}** on ${weekday}${Number(day)} ${months[Number(month) - 1]} ${year}${zoneText && ` (${zoneText})`}.`
}

function describeFile(request: string, path: string, text: string, output: JsonObject): string {
  const sections = toSections(text.replace(/^---\n[^]*?\n---\n/, ''))
  const isSummary = /\bsummar|\bkey points|\bin short/i.test(request)
  const summary = isSummary ? answerFromTexts(request, sections) : undefined
  if (summary) return summary
  const topic = stemsOf(request.replaceAll(path, ' ').replace(/\b(read|open|show|print|contents?|files?|say|says|in|of|text)\b/gi, ' '))
  const passages = sections.map((section) => ({ file: path, ...section }))
  const quotes = topic.size > 0 && text.length > 400 ? quotePassages([...topic].join(' '), passages) : undefined
  if (quotes) return quotes
  const beginning = text.slice(0, maxCharacters)
  const total = typeof output['total_characters'] === 'number' ? output['total_characters'] : text.length
  const ending =
    beginning.length < total
      ? `\n\nThat is the beginning: ${beginning.length.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} characters.`
      : ''
  const body = /\.(md|markdown|txt|html?)$/i.test(path) ? beginning.trim() : `\`\`\`\n${beginning.trim()}\n\`\`\``
  return `\`${path}\`:\n\n${body}${ending}`
}

function describeText(request: string, text: string): string {
  if (text.trim() === '') return 'The tool gave no output.'
  // Output over the limit of a tool is cut, so its JSON may be incomplete.
  if (/^\s*[[{]/.test(text)) return `The output is not whole. It begins:\n\n\`\`\`\n${cut(text.trim(), maxCharacters / 2)}\n\`\`\``
  return text.length <= maxCharacters
    ? text.trim()
    : (quotePassages(request, [{ file: '', heading: '', text }]) ?? cut(text, maxCharacters))
}

function describeCalculation(request: string, input: JsonObject, result: JsonValue): string {
  const { text, isRounded } = formatResult(typeof result === 'string' ? result : JSON.stringify(result))
  const is = isRounded ? 'is about' : 'is'
  const question = request
    .trim()
    .replace(
      /^(?:please\s+|can you\s+|could you\s+)*(?:what(?:'s| is| are)|calculate|compute|evaluate|work out|how much (?:is|are|does)|tell me|convert)\s+/i,
      '',
    )
    .replace(/(?<![?!.=\s])[?!.=\s]+$/, '')
  const expression = typeof input['expression'] === 'string' ? input['expression'] : question
  const isQuestion =
    /^(how|what|which|who|when|where|is|are|i|we|if)\b/i.test(question) ||
    question.length > 60 ||
    /\b(that|it|this|result)\b/i.test(question)
  if (isQuestion) return `\`${expression}\` ${is} **${text}**.`
  return `${question.charAt(0).toUpperCase()}${question.slice(1)} ${is} **${text}**.`
}
