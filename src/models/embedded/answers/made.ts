import type { JsonObject, JsonValue } from '../../../agent/messages.ts'
import { describeJson } from './json.ts'
import { cut, quotePassages } from './passages.ts'

/** Describes results of charts, web pages and code; undefined for results of other tools. */

const maxPage = 3_000
const maxOutput = 4_000

export function describeOutput(request: string, output: JsonObject): string | undefined {
  if (isChart(output)) return describeChart(output)
  if (typeof output['url'] === 'string' && typeof output['text'] === 'string')
    return describePage(request, output['url'], output['text'], output)
  const keys = Object.keys(output)
  const isRun = keys.includes('stdout') || keys.includes('stderr')
  return isRun && keys.every((key) => ['result', 'stdout', 'stderr', 'files', 'note'].includes(key)) ? describeRun(output) : undefined
}

function isChart({ files, width, height }: JsonObject): boolean {
  return Array.isArray(files) && typeof width === 'number' && typeof height === 'number'
}

function describeChart({ files, width, height, rows, warnings }: JsonObject): string {
  const names = (files as JsonObject[]).map((file) => `\`${String(file['file_name'])}\``)
  const rowCount = typeof rows === 'number' && rows > 0 ? ` of ${rows} ${rows === 1 ? 'row' : 'rows'}` : ''
  const notes = Array.isArray(warnings) ? warnings.map((warning) => `\n\n${String(warning)}`).join('') : ''
  return `I drew a chart${rowCount}: ${names.join(' and ')} (${String(width)} × ${String(height)} pixels).${notes}`
}

function describePage(request: string, url: string, text: string, { title, author, published }: JsonObject): string {
  const byline = [author, published].filter((part) => typeof part === 'string').join(', ')
  const head = `**${typeof title === 'string' ? title : url}**${byline && ` (${byline})`}\n${url}`
  const topic = request
    .replace(/https?:\/\/\S+/g, ' ')
    .replace(/\b(read|open|fetch|show|me|page|site|web|summari[sz]e|what|does|say|the|use|with|url)\b/gi, ' ')
  const passages = /\p{L}{3}/u.test(topic) && text.length > 400 ? quotePassages(topic, [{ file: '', heading: '', text }]) : undefined
  return `${head}\n\n${passages ?? cut(text.trim(), maxPage)}`
}

function describeRun({ result, stdout, stderr, files, note }: JsonObject): string {
  const paragraphs: string[] = []
  for (const text of [stdout, stderr])
    if (typeof text === 'string' && text.trim() !== '') paragraphs.push(`\`\`\`\n${cut(text.trimEnd(), maxOutput)}\n\`\`\``)
  if (result !== undefined) paragraphs.push(isPlain(result) ? `The result is **${String(result)}**.` : describeJson(result))
  if (Array.isArray(files) && files.length > 0) paragraphs.push(`I made ${files.map((file) => `\`${String(file)}\``).join(', ')}.`)
  if (typeof note === 'string') paragraphs.push(note)
  return paragraphs.join('\n\n') || 'It ran, and gave nothing.'
}

function isPlain(value: JsonValue): boolean {
  return value === null || typeof value !== 'object'
}
