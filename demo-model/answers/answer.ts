import type { JsonObject, JsonValue, ToolMessage } from '../../src/agent/messages.ts'
import { isObject } from '../../src/json/shape.ts'
import { toTopic } from '../argument-words.ts'
import { stemsOf } from '../language/words.ts'
import { toSections, type Section } from '../question.ts'
import { cut, quotePassage, quotePassages, type Passage } from './passages.ts'
import { describeJson, describeRows, formatResult, type Rows } from './rows.ts'

/** Longer text is cut. */
const maxCharacters = 4_000

/** Describes the result of a tool. `request` is the question, `input` the input of the call. */
export function describeResult(request: string, input: JsonObject, result: ToolMessage): string {
  const output = parseJson(result.text)
  if (result.isError) {
    const message = isObject(output) && typeof output['error'] === 'string' ? output['error'] : result.text
    return `The tool \`${result.name}\` could not do that: ${cut(message.trim(), 600)}`
  }
  if (typeof output === 'string') return describeText(request, output)
  if (!isObject(output)) return describeJson(output)
  for (const { fits, describe } of shapes) if (fits(output)) return describe({ request, input, output, name: result.name })
  return describeJson(output)
}

/** The value of a JSON text; plain text stays. */
export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

interface Described {
  request: string
  input: JsonObject
  output: JsonObject
  name: string
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Outputs of tools, by their fields. */
const shapes: { fits(output: JsonObject): boolean; describe(described: Described): string }[] = [
  {
    fits: ({ columns, rows }) => Array.isArray(columns) && Array.isArray(rows),
    describe: ({ output }) => describeRows(output as JsonObject & Rows),
  },
  {
    fits: ({ passages }) => Array.isArray(passages) && passages.every((passage) => isObject(passage) && isText(passage['text'])),
    describe: describePassages,
  },
  { fits: ({ files, width }) => Array.isArray(files) && typeof width === 'number', describe: describeChart },
  { fits: ({ url, text }) => isText(url) && isText(text), describe: describePage },
  { fits: ({ stdout, stderr }) => isText(stdout) || isText(stderr), describe: describeRun },
  { fits: ({ files }) => Array.isArray(files), describe: describeFiles },
  { fits: ({ time }) => isText(time), describe: describeTime },
  { fits: ({ path, text }) => isText(path) && isText(text), describe: describeFile },
  {
    fits: ({ artifact_id: id, file_name: name }) => isText(id) && isText(name),
    describe: ({ output }) => `I made the file \`${String(output['file_name'])}\` (${String(output['size'])} bytes).`,
  },
  {
    fits: (output) => 'result' in output && Object.keys(output).every((key) => ['result', 'expression'].includes(key)),
    describe: describeCalculation,
  },
]

function describePassages({ request, input, output, name }: Described): string {
  const topic = isText(input['query']) ? input['query'] : toTopic(request)
  const passages = (output['passages'] as Partial<Passage>[]).map(({ file = '', heading = '', text = '' }) => ({ file, heading, text }))
  const [nearest] = passages
  if (!nearest) return `I found nothing about “${topic}” with ${name}.`
  return (
    quotePassages(topic, passages)?.text ??
    `I found nothing in ${name} that speaks of that directly. The nearest is:\n\n${quotePassage(nearest, [], 600)}`
  )
}

function describeChart({ output: { files, width, height, rows, warnings } }: Described): string {
  const names = (files as JsonObject[]).map((file) => `\`${String(file['file_name'])}\``)
  const rowCount = typeof rows === 'number' && rows > 0 ? ` of ${rows} ${rows === 1 ? 'row' : 'rows'}` : ''
  const notes = Array.isArray(warnings) ? warnings.map((warning) => `\n\n${String(warning)}`).join('') : ''
  return `I drew a chart${rowCount}: ${names.join(' and ')} (${String(width)} × ${String(height)} pixels).${notes}`
}

function describePage({ request, output: { url, text, title, author, published } }: Described): string {
  const byline = [author, published].filter(isText).join(', ')
  const topic = toTopic(request.replace(/https?:\/\/\S+/g, ' '))
  const quotes = String(text).length > 400 ? quotePassages(topic, [{ file: '', heading: '', text: String(text) }]) : undefined
  const body = quotes && quotes.coverage >= 0.5 ? quotes.text : cut(String(text).trim(), maxCharacters)
  return `**${String(title ?? url)}**${byline && ` (${byline})`}\n${String(url)}\n\n${body}`
}

function describeRun({ output: { result, stdout, stderr, files, note } }: Described): string {
  const printed = [stdout, stderr].filter((text) => isText(text) && text.trim() !== '').map((text) => fence(String(text).trimEnd()))
  const isPlain = result === null || typeof result !== 'object'
  const paragraphs = [
    ...printed,
    ...(result === undefined ? [] : [isPlain ? `The result is **${String(result)}**.` : describeJson(result)]),
    ...(Array.isArray(files) && files.length > 0 ? [`I made ${files.map((file) => `\`${String(file)}\``).join(', ')}.`] : []),
    ...(isText(note) ? [note] : []),
  ]
  return paragraphs.join('\n\n') || 'It ran, and gave nothing.'
}

function fence(text: string): string {
  return `\`\`\`\n${cut(text, maxCharacters)}\n\`\`\``
}

function describeFiles({ input: { path }, output }: Described): string {
  const files = (output['files'] as JsonValue[]).map((file) => String(isObject(file) ? (file['path'] ?? file['name']) : file))
  const where = isText(path) && path !== '' ? ` in \`${path}\`` : ''
  if (files.length === 0) return `There are no files${where}.`
  const ending = files.length > 100 ? `\n\n… and ${files.length - 100} more.` : ''
  const list = files.slice(0, 100).map((name) => `- \`${name}\``)
  return `There ${files.length === 1 ? 'is 1 file' : `are ${files.length} files`}${where}:\n\n${list.join('\n')}${ending}`
}

function describeTime({ output: { time, timezone, weekday } }: Described): string {
  const [, date, clock, offset = 'Z'] = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})[:\d.]*(Z|[+-]\d{2}:?\d{2})?/.exec(String(time)) ?? []
  const zone = isText(timezone) ? timezone : ''
  if (date === undefined) return `It is ${String(time)}${zone && ` (${zone})`}.`
  const shift = /^(?:Z|[+-]00:?00)$/.test(offset) ? (zone === 'UTC' ? '' : 'UTC') : `UTC${offset}`
  const day = new Date(date).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
  const location = [zone.replaceAll('_', ' '), shift].filter(Boolean).join(', ')
  return `It is **${clock}** on ${isText(weekday) ? `${weekday}, ` : ''}${day}${location && ` (${location})`}.`
}

function describeFile({ request, output }: Described): string {
  const [path, text] = [String(output['path']), String(output['text'])]
  const sections = toSections(text).map((section) => ({ ...section, file: path }))
  if (summaryWords.test(request)) return summarise(sections)
  const topic = stemsOf(request.replaceAll(path, ' ').replace(/\b(read|open|show|print|contents?|files?|say|says|in|of|text)\b/gi, ' '))
  const quotes = topic.size > 0 && text.length > 400 ? quotePassages([...topic].join(' '), sections) : undefined
  if (quotes && quotes.coverage > 0.5) return quotes.text
  const beginning = text.slice(0, maxCharacters)
  const total = Number(output['total_characters'] ?? text.length)
  const isCut = beginning.length < total
  const ending = `\n\nThat is the beginning: ${beginning.length.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} characters.`
  return `\`${path}\`:\n\n${/\.(md|markdown|txt|html?)$/i.test(path) ? beginning.trim() : fence(beginning.trim())}${isCut ? ending : ''}`
}

function describeText(request: string, text: string): string {
  if (text.trim() === '') return 'The tool gave no output.'
  // Output over the limit of a tool is cut, so its JSON may be incomplete.
  if (/^\s*[[{]/.test(text)) return `The output is not whole. It begins:\n\n${fence(cut(text.trim(), maxCharacters / 2))}`
  if (text.length <= maxCharacters) return text.trim()
  return quotePassages(request, [{ file: '', heading: '', text }])?.text ?? cut(text, maxCharacters)
}

const asking = /^(?:please\s+|can you\s+|could you\s+)*(?:what(?:'s| is| are)|calculate|compute|how much (?:is|are)|tell me|convert)\s+/i

function describeCalculation({ request, input, output: { result } }: Described): string {
  const { text, isRounded } = formatResult(isText(result) ? result : JSON.stringify(result))
  const is = isRounded ? 'is about' : 'is'
  const question = request
    .trim()
    .replace(asking, '')
    .replace(/(?<![?!.=\s])[?!.=\s]+$/, '')
  const isQuestion = /^(how|what|which|is|are|i|we|if)\b|\b(that|it|this|result)\b/i.test(question) || question.length > 60
  if (isQuestion && isText(input['expression'])) return `\`${input['expression']}\` ${is} **${text}**.`
  return `${question.charAt(0).toUpperCase()}${question.slice(1)} ${is} **${text}**.`
}

/** Answers from texts in the same message as the question; undefined if the texts have no answer. */
export function answerFromTexts(question: string, sections: readonly Section[]): string | undefined {
  if (sections.length === 0) return undefined
  if (summaryWords.test(question) || (asksForAll(question) && sections.some(({ file }) => file))) return summarise(sections)
  const [questionStems, stems] = [stemsOf(question), stemsOf(sections.map(({ heading, text }) => `${heading} ${text}`).join(' '))]
  if ([...questionStems].filter((part) => stems.has(part)).length < questionStems.size / 2 || questionStems.size === 0) return undefined
  const passages = sections.map(({ file = '', heading, text }) => ({ file, heading, text }))
  return quotePassages(question, passages)?.text
}

const summaryWords = /\b(summari[sz]e|summary|tl;?dr|key points|main points|in short)\b/i

/** Words that refer to a text as a whole. */
const general = stemsOf('file document attached attachment text table content contain say read open summarise summary describe explain')

/** True for "What is in it?" and "summarise the file", which ask about the whole text. */
export function asksForAll(question: string): boolean {
  return summaryWords.test(question) || [...stemsOf(question)].every((part) => general.has(part))
}

/** Summarises a text by the first sentence of each section. */
function summarise(sections: readonly Section[]): string {
  const prose = sections.filter((section) => !section.isRows)
  const lines = prose.slice(0, 12).map(({ heading, text }) => {
    const paragraphs = text.split(/\n\s*\n/).map((part) => part.trim())
    const paragraph = paragraphs.find((part) => part !== '' && !/^[-|>`]/.test(part)) ?? text.trim()
    const sentence = /^[\s\S]*?[.!?](?=\s|$)/.exec(paragraph)?.[0] ?? paragraph
    return `- ${heading ? `**${heading}**: ` : ''}${cut(sentence.replace(/\s+/g, ' ').trim(), 240)}`
  })
  return `The text in its own words, shortened:\n\n${lines.join('\n')}`
}

const statement =
  /^(?:my (?:\w+ ){1,3}(?:is|are)|i(?:'m| am| live| work| like| love| prefer| have(?! to\b)| use| speak| drive| own| hate|'ve| do not| don't)|we (?:are|have|use|prefer)|our (?:\w+ ){1,3}(?:is|are)|call me|(?:please )?(?:remember|note(?: that|:)))(?=\W|$)/i

/** Answers a question about the person from what the person said before and from memories. */
export function answerFromStatements(question: string, messages: string, memories: readonly string[]): string | undefined {
  if (statement.test(question.trim()) && !question.includes('?')) return 'Noted. I will keep that in mind in this conversation.'
  if (!/\b(my|i|me|mine|we|our|us)\b/i.test(question) || !/\?|^(what|who|where|when|which|how|do|did|tell)/i.test(question))
    return undefined
  const questionStems = [...stemsOf(question)]
  const sentences = messages.split(/(?<=[.!])\s+|\n+/).map((sentence) => sentence.replace(/^[->*\s]+(?:User: )?/, '').trim())
  const scored = [...memories, ...sentences].map((sentence) => {
    const stems = stemsOf(sentence)
    return { sentence, score: questionStems.filter((part) => stems.has(part)).length }
  })
  const [best] = scored.toSorted((a, b) => b.score - a.score)
  if (!best || best.score === 0 || best.score / questionStems.length < 0.6) return undefined
  return memories.includes(best.sentence) ? best.sentence : `What I know of that from you: “${cut(best.sentence, 400)}”`
}
