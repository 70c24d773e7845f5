import type { PendingCall } from '../../../agent/approval.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { linkPath } from '../../../artifacts/signed-links.ts'
import type { Citation, UsageEntry } from '../../../sessions/message.ts'
import { toWaitingFields, toWaitingText, type WaitingFields } from '../../../runs/approvals/approval-view.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { lastOfPart, type RunPart } from '../../../runs/parts.ts'
import type { LastEvent, LoggedEvent } from '../../../runs/run.ts'
import { Segments, Thoughts } from '../texts.ts'

/** A link in a text, as OpenAI describes citations. The indexes count characters of the whole text; the end is exclusive. */
export interface UrlCitation {
  start_index: number
  end_index: number
  title: string
  url: string
}

/** The web pages that an answer rests on. `offset`: the place of the answer in the text. */
export function toWebCitations(citations: readonly Citation[] = [], offset = 0): UrlCitation[] {
  return citations.flatMap(({ url, title = '', answerStart, answerEnd }) =>
    url === undefined ? [] : [{ start_index: offset + answerStart, end_index: offset + answerEnd, title, url }],
  )
}

/** Text with links to the files of a run, since OpenAI clients show only text. */
export interface FileText {
  /** A Markdown list; empty where no file has a link. */
  text: string
  citations: UrlCitation[]
}

/** The extra field `generated_artifacts` of a reply whose run made files. */
export function fileFields(files: readonly AnswerFile[] = []): { generated_artifacts?: readonly AnswerFile[] } {
  return files.length > 0 ? { generated_artifacts: files } : {}
}

/** Writes the links that follow `length` characters of text, separated from the text by a blank line. */
export function toFileText(files: readonly AnswerFile[] = [], length: number): FileText {
  const citations: UrlCitation[] = []
  let text = ''
  for (const { file_name: title, download_url: url } of files) {
    if (url === undefined) continue
    text += text === '' ? `${length > 0 ? '\n\n' : ''}- ` : '\n- '
    const start = length + text.length
    text += `[${escapeMarkdown(title)}](${url})`
    citations.push({ start_index: start, end_index: length + text.length, title, url })
  }
  return { text, citations }
}

/** What is markup in the text of a link. An underscore between letters is none. */
const markup = /[\\`*[\]<>~&]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu

/** A file name is chosen by a model or a tool, and must not become markup. */
function escapeMarkdown(name: string): string {
  return name.replace(markup, '\\$&')
}

const link = /\]\((https?:\/\/[^\s()]+)\)/gi

/**
 * An earlier answer, as a client sends the answer again, with the names of files but without the links. A link opens a file without a
 * key, so no model and no store gets a link.
 */
export function withoutFileLinks(text: string): string {
  return text.replace(link, (whole, url: string) => (isSigned(url) ? ']' : whole))
}

/** Whether a URL is a link of this service, or of its S3 store. */
function isSigned(url: string): boolean {
  return (url.includes(`${linkPath}/`) && /[?&]signature=/.test(url)) || /[?&]X-Amz-Signature=/i.test(url)
}

/** The extra fields of a reply whose run is interrupted: `approval_required`, `client_tool_calls`. */
export function approvalFields(requestId: string, last: LastEvent): WaitingFields {
  return last.type === 'interrupt' ? toWaitingFields(requestId, last.calls) : {}
}

/** A text about the calls that wait for approval, since OpenAI clients show only text; empty for none. */
export function waitingText(requestId: string, last: LastEvent): string {
  const calls = last.type === 'interrupt' ? last.calls.filter(({ by }) => by !== 'client') : []
  return calls.length === 0 ? '' : toWaitingText(requestId, calls)
}

/** The calls of client tools that wait for their output; empty for none. */
export function clientCallsOf(last: LastEvent): readonly PendingCall[] {
  return last.type === 'interrupt' ? last.calls.filter(({ by }) => by === 'client') : []
}

/** The number of the interruption that a part follows, behind the id of the run; empty for the first part. */
export function partSuffix({ before }: RunPart): string {
  const interruptions = before.filter(({ type }) => type === 'interrupt').length
  return interruptions > 0 ? `-${interruptions}` : ''
}

/** The end, the text and the thoughts of a part of a run that has ended or waits. */
export function answerOf(part: RunPart, output: string, { log, hasSchema }: Pick<OpenRun, 'log' | 'hasSchema'>) {
  const events = log.events.slice(part.before.length)
  const last = lastOfPart(part, log.events.at(-1) as LastEvent)
  const thoughts = new Thoughts()
  return {
    last,
    text: toAnswerText({ part, events, last, output, hasSchema }),
    thinking: events.map((event) => thoughts.take(event)).join(''),
  }
}

interface AnswerParts {
  part: RunPart
  /** The events of the part. */
  events: readonly LoggedEvent[]
  /** The last event, as the client of the part gets the event. */
  last: LastEvent
  output: string
  hasSchema: boolean
}

/** The text of an answer that is sent in one piece. The answer so far leaves out the text in front of calls that the agent itself made in the same turn. */
function toAnswerText({ part, events, last, output, hasSchema }: AnswerParts): string {
  const hasAnswer = part.open.length === 0 && !(hasSchema && last.type === 'interrupt')
  if (!hasAnswer) return ''
  return clientCallsOf(last).length > 0 ? lastSegment(events) : output
}

/** The text in front of the last calls. */
function lastSegment(events: readonly LoggedEvent[]): string {
  const segments = new Segments({ isHeld: false })
  let text = ''
  for (const event of events) {
    const piece = segments.take(event)
    if (piece) text = piece.startsSegment ? piece.text : text + piece.text
  }
  return text
}

/** Links follow an answer in words. An answer with a schema is JSON alone. */
export function linksBehind(last: LastEvent, files: readonly AnswerFile[], length: number): FileText {
  return toFileText(last.type === 'end' && last.structured ? [] : files, length)
}

/** The token counts of a run, summed over its models. */
interface Tokens {
  input: number
  output: number
  total: number
  cached: number
  written: number
  reasoning: number
}

/** The tokens of a part of a run; `before`: the usage of the run up to the part. */
export function tokensSince(before: readonly UsageEntry[], usage: readonly UsageEntry[]): Tokens {
  const sum: Tokens = { input: 0, output: 0, total: 0, cached: 0, written: 0, reasoning: 0 }
  const add = (entries: readonly UsageEntry[], sign: 1 | -1) => {
    for (const { unit, details } of entries) {
      if (unit !== 'tokens' || !details) continue
      sum.input += sign * details.input
      sum.output += sign * details.output
      sum.cached += sign * details.cached_input
      sum.written += sign * (details.cache_write ?? 0)
      sum.reasoning += sign * details.reasoning
    }
  }
  add(usage, 1)
  add(before, -1)
  return { ...sum, total: sum.input + sum.output }
}
