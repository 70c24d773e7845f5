import { Suspended } from '../../agent/approval.ts'
import type { Artifact, JsonObject, JsonValue, KeepArtifact } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { toStableJson } from '../../configuration/parse.ts'
import { fieldsOf } from '../../json/shape.ts'
import { toLocalTime } from '../../json/time.ts'
import type { RecordedCall } from '../example.ts'
import type { AnswerCall } from './catalog.ts'
import type { LiveRead } from './live.ts'
import type { Recording } from './recording.ts'
import type { ReadMedia } from './store.ts'

/** The answer to a call of a read tool without a recording. */
export type OnMiss = 'fail' | 'error' | 'live'

/** A call that changes something, as a replay has noted it. */
export interface NotedWrite {
  tool: string
  tool_input: JsonValue
  /** The recorded call that has answered the call; null for a call that was never made. */
  n: number | null
  recorded: boolean
}

/** Why the recording cannot answer a call. */
export type MissReason = 'no_recording' | 'used_up'

export interface AnswerOptions {
  recording: Recording
  onMiss: OnMiss
  live: ReadonlyMap<string, LiveRead>
  /** The request id of the replay: the conversation of tools that read. */
  requestId: string
  /** True for a call that has waited, and that the replay has approved in place of a person. */
  hasWaited(callId: string): boolean
  /** Names of the tools that tell the time. */
  clocks: ReadonlySet<string>
  /** Epoch milliseconds. */
  time: number
  readMedia: ReadMedia
  onWrite(write: NotedWrite): void
  /** Called for a call of a read tool without a recording; `isLive`: the tool reads instead. With `fail`, the replay stops here. */
  onMissed(call: { callId: string; tool: string; input: JsonValue; isLive: boolean }, reason: MissReason): void
}

export interface Answers {
  answer: AnswerCall
  keepArtifact: KeepArtifact
  /** The next files are those of a recorded reply. */
  expectFiles(artifacts: readonly Artifact[]): void
}

/** The output of a call that changes something and was never made. */
const simulated: JsonObject = { simulated: true }

/** Answers the calls of a replay from the recording. A call that changes something is noted, whatever answers the call. */
export function createAnswers(options: AnswerOptions): Answers {
  const { recording, onMiss, live, requestId, hasWaited, clocks, time, onWrite, onMissed } = options
  const files = new RecordedFiles(options.readMedia)
  /** A call that a server suspends with a question is answered again behind the question. */
  const noted = new Set<string>()

  const answer: AnswerCall = async (tool, input, context) => {
    const { callId } = context
    const recorded = recording.claimOf(callId)
    const isAnswer = recorded !== undefined && answers(recorded, input)
    const read = onMiss === 'live' && !hasWaited(callId) ? live.get(tool.name) : undefined
    if (tool.effect === 'write' || (!isAnswer && read?.writesNow)) {
      if (!noted.has(callId)) onWrite({ tool: tool.name, tool_input: input, n: isAnswer ? recorded.n : null, recorded: isAnswer })
      noted.add(callId)
      return isAnswer ? repeat(recorded, context, files) : simulated
    }
    if (isAnswer) return repeat(recorded, context, files)
    if (clocks.has(tool.name)) return timeAnswer(input, time)
    onMissed(
      { callId, tool: tool.name, input, isLive: read !== undefined },
      recording.isUsedUp({ callId, tool: tool.name, input }) ? 'used_up' : 'no_recording',
    )
    if (read) return read.execute(input, context, requestId)
    throw new Error(`There is no recording of this call of ${tool.name}.`)
  }

  return { answer, keepArtifact: files.keep, expectFiles: files.expect }
}

/** False for a call without an outcome, and for one that a person has refused or changed: the candidate makes the call as the model asked. */
function answers({ status, decision }: RecordedCall, input: JsonObject): boolean {
  if (status === 'unknown' || decision?.decision === 'reject') return false
  return decision?.input === undefined || toStableJson(decision.input) === toStableJson(input)
}

/** Gives the output, the failure, the lines of the log, the files and the questions of a recorded call. */
async function repeat(recorded: RecordedCall, context: ToolContext, files: RecordedFiles): Promise<JsonValue> {
  const { output, status, questions = [], artifacts = [], pictures = [], step } = recorded
  const answeredRounds = Number(context.resumed?.state ?? 0)
  const round = questions[answeredRounds]
  if (round && context.maySuspend)
    throw new Suspended(
      answeredRounds + 1,
      round.map(({ name, input }) => ({ name, input })),
    )
  const failure = status === 'success' ? undefined : errorOf(output)
  // The loop writes the last line.
  const lines = step?.log.slice(0, -(failure ?? 'Done.').length - 1) ?? ''
  if (lines !== '') context.log(lines)
  for (const artifact of artifacts) await files.repeat(artifact, context, pictures.includes(artifact.name))
  if (failure === undefined) return output
  throw new Error(failure)
}

function errorOf(output: JsonValue): string {
  const { error } = fieldsOf(output)
  return typeof error === 'string' ? error : JSON.stringify(output)
}

/** The answer of `current_time` at the time of the recorded run. */
function timeAnswer(input: JsonObject, at: number): JsonValue {
  const timezone = String(input['timezone'] ?? 'UTC').trim()
  const local = toLocalTime(at, timezone)
  if (!local) throw new Error(`There is no time zone "${timezone}". Use an IANA name such as Europe/Zurich.`)
  const { time, weekday, date } = local
  return { time, timezone, weekday, date }
}

/** Files of recorded calls and replies. Nothing is stored: a replay gives the entries of the recording. */
class RecordedFiles {
  private readonly readMedia: ReadMedia
  private readonly entries = new WeakMap<Uint8Array, Artifact>()
  private expected: readonly Artifact[] = []
  private count = 0

  constructor(readMedia: ReadMedia) {
    this.readMedia = readMedia
  }

  async repeat(artifact: Artifact, context: ToolContext, isShown: boolean): Promise<void> {
    const { name, type, sha256 } = artifact
    const data = isShown ? await this.readMedia(sha256) : undefined
    const bytes = new Uint8Array(Buffer.from(data ?? '', 'base64'))
    this.entries.set(bytes, artifact)
    await context.artifact(name, type, bytes, { isReturned: data !== undefined })
  }

  readonly expect = (artifacts: readonly Artifact[]): void => {
    this.expected = artifacts
  }

  readonly keep: KeepArtifact = async ({ name, type, bytes, tool }) => {
    const [next, ...remaining] = this.entries.has(bytes) ? [] : this.expected
    if (next) this.expected = remaining
    const entry = this.entries.get(bytes) ?? next
    return entry ?? { id: `replayed-${++this.count}`, name, type, size: bytes.byteLength, sha256: '', tool, createdAt: 0 }
  }
}
