import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { VariantResultView, ResultView, TraceEntry } from '../experiments.ts'

/** What the store keeps of a result beside its figures and its trace. */
export interface ResultContent extends Pick<ResultView, 'exampleName' | 'datasetId' | 'question'> {
  recorded: Pick<ResultView['recorded'], 'output' | 'requestId'>
  result: Omit<VariantResultView, 'outcome' | 'cost' | 'tokens' | 'durationMs' | 'trace'>
}

/** Bytes of a result with its trace. */
const maxBytes = 256 * 1024
/** Characters of a value; a result that is too large with the first limit gets the next. */
const valueLimits = [4000, 1000, 200, 20]
/** A text of an answer is worth more than a value. */
const textsPerValue = 4
const maxWrites = 50
const maxEntries = 500

/** Cuts a result to its greatest size: the trace first, then the values. */
export function boundResult(content: ResultContent, trace: readonly TraceEntry[]): { content: JsonObject; trace: JsonValue[] } {
  let bounded: ResultContent = content
  for (const limit of valueLimits) {
    bounded = boundContent(content, limit)
    if (bytesOf(bounded) <= maxBytes) break
  }
  return { content: toJson(bounded), trace: boundTrace(trace, maxBytes - bytesOf(bounded)).map(toJson) }
}

/** Cuts the values of a trace, and leaves out entries at its end. */
export function boundTrace(trace: readonly TraceEntry[], maxTraceBytes = maxBytes): TraceEntry[] {
  const entries: TraceEntry[] = []
  let bytes = 0
  for (const entry of trace.slice(0, maxEntries)) {
    const bounded = boundEntry(entry)
    bytes += bytesOf(bounded) + 1
    if (bytes > maxTraceBytes) break
    entries.push(bounded)
  }
  return entries
}

function boundEntry({ text, toolInput, output, ...entry }: TraceEntry): TraceEntry {
  const [limit] = valueLimits as [number]
  return {
    ...entry,
    ...(text !== undefined && { text: cutText(text, limit) }),
    ...(toolInput !== undefined && { toolInput: cutValue(toolInput, limit) }),
    ...(output !== undefined && { output: cutValue(output, limit) }),
  }
}

function boundContent(content: ResultContent, limit: number): ResultContent {
  const { question, recorded, result } = content
  const { output, proposedWrites, effects, scores, divergence, error } = result
  const text = (value: string) => cutText(value, limit * textsPerValue)
  const value = (json: JsonValue) => cutValue(json, limit)
  const write = <Call extends { tool_input: JsonValue }>(call: Call) => ({ ...call, tool_input: value(call.tool_input) })
  return {
    ...content,
    question: text(question),
    recorded: { ...recorded, output: text(recorded.output) },
    result: {
      ...result,
      output: text(output),
      error: error && text(error),
      divergence: divergence && { ...divergence, ...(divergence.call && { call: write(divergence.call) }) },
      proposedWrites: proposedWrites.slice(0, maxWrites).map((call) => ({ ...call, toolInput: value(call.toolInput) })),
      effects: {
        same: effects.same,
        added: effects.added.slice(0, maxWrites).map(write),
        removed: effects.removed.slice(0, maxWrites).map(write),
        changed: effects.changed
          .slice(0, maxWrites)
          .map(({ tool, before, after }) => ({ tool, before: value(before), after: value(after) })),
      },
      scores: scores.map((score) => ({ ...score, ...(score.reason !== undefined && { reason: cutText(score.reason, limit) }) })),
    },
  }
}

/** A value that is too long becomes the beginning of its text. */
function cutValue(value: JsonValue, limit: number): JsonValue {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > limit ? cutText(text, limit) : value
}

function cutText(text: string, limit: number): string {
  return text.length > limit ? text.slice(0, limit).toWellFormed() : text
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}

function toJson(value: object): JsonObject {
  return value as unknown as JsonObject
}
