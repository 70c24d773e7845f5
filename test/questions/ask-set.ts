import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { askAll, type GradedTurn } from './ask.ts'
import { setClock, startOfQuestions } from './clock.ts'
import { questionFiles, readQuestions, type QuestionSet } from './question.ts'
import { formatFault, formatShares, formatTranscript } from './report.ts'
import { startSamples, startShop } from './set-ups.ts'

/** Puts a set to the embedded model and prints the shares and the faults. `QUESTIONS_TRANSCRIPT` names a file for all answers. */
export async function askSet(t: TestContext, set: QuestionSet): Promise<GradedTurn[]> {
  const groups = await askBothSetUps(t, set)
  const turns = [...groups.values()].flat()
  t.diagnostic(`\n${formatShares(new Map([...groups, ['all', turns]]))}\n\n${formatShares(Map.groupBy(turns, ({ kind }) => kind))}`)
  const faults = turns.filter(({ grade }) => grade === 'wrong' || grade === 'unordered write')
  t.diagnostic(`\n${faults.map(formatFault).join('\n')}`)
  const { QUESTIONS_TRANSCRIPT: file } = process.env
  if (file !== undefined) writeFileSync(file, formatTranscript(groups))
  return turns
}

async function askBothSetUps(t: TestContext, set: QuestionSet): Promise<Map<string, GradedTurn[]>> {
  setClock(t, startOfQuestions)
  const folder = await mkdtemp(path.join(tmpdir(), 'questions-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const [samples, shop] = await Promise.all([startSamples(t), startShop(t, folder)])
  const groups = new Map<string, GradedTurn[]>()
  for (const file of questionFiles) groups.set(file, await askAll(file === 'samples' ? samples : shop, readQuestions(file, set), file))
  return groups
}
