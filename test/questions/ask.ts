import { findPending, gradeAnswer, proposes, type Answer, type Verdict } from './grade.ts'
import type { Call, Conversation, Turn } from './question.ts'
import type { SetUp, Step } from './set-ups.ts'

/** A turn with its answer and its grade. */
export interface GradedTurn extends Verdict {
  kind: string
  turn: Turn
  answer: Answer
}

/** Puts all conversations to an agent, a few at a time, and grades each turn. */
export async function askAll(setUp: SetUp, conversations: Conversation[], prefix: string): Promise<GradedTurn[]> {
  const graded: GradedTurn[][] = []
  const waiting = conversations.entries()
  const worker = async () => {
    for (const [index, conversation] of waiting) graded[index] = await converse(setUp, conversation, `${prefix}-${index}`)
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  return graded.flat()
}

async function converse(setUp: SetUp, { kind, turns }: Conversation, session: string): Promise<GradedTurn[]> {
  const graded: GradedTurn[] = []
  let pending: Call[] = []
  for (const [at, turn] of turns.entries()) {
    const answer = await askAndConfirm(setUp, turn, { session, isLast: at === turns.length - 1 })
    const verdict = gradeAnswer(turn, answer, { documents: setUp.documents, pending })
    pending = findPending(turn, answer, pending)
    graded.push({ kind, turn, answer, ...verdict })
  }
  return graded
}

/** The person says yes to a proposal of what the turn orders. Where the turn may be asked back, or a later turn of the set says so, the answer stands. */
async function askAndConfirm(setUp: SetUp, turn: Turn, { session, isLast }: { session: string; isLast: boolean }): Promise<Answer> {
  const answer = await ask(setUp, turn.ask, session)
  const { calls = [], clarify, confirm } = turn
  if (calls.length === 0 || clarify || confirm || !isLast || answer.calls.length > 0 || !proposes(answer.text, calls)) return answer
  const confirmed = await ask(setUp, 'Yes', session)
  return { ...confirmed, text: `${answer.text}\n\n${confirmed.text}` }
}

async function ask({ client, writesOf }: SetUp, question: string, session: string): Promise<Answer> {
  const { status, body, text } = await client.chat(question, { 'session-id': session })
  if (status !== 200) return { text: `The chat failed with ${status}: ${text}`, ...writesOf(session, []), files: [], steps: '' }
  const steps = body.body.intermediate_steps as Step[]
  const calls = steps.filter(({ type }) => type === 'tool_call')
  const files = await Promise.all(body.body.generated_artifacts.map(readFile))
  return {
    text: body.body.output,
    ...writesOf(session, steps),
    files,
    steps: JSON.stringify(calls.map((step) => [step.tool_input, step.output])),
  }
}

/** Text files are read; of pictures, the type is enough. */
async function readFile({ file_name: name, download_url: url }: { file_name: string; download_url: string }) {
  const response = await fetch(url)
  const type = response.headers.get('content-type') ?? ''
  const bytes = await response.bytes()
  return { name, type, text: type.startsWith('image/') ? '' : Buffer.from(bytes).toString() }
}
