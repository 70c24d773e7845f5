import type { Owner } from '../../access/owner.ts'
import { invalid, type Fault } from '../../errors.ts'
import type { CallerSchemas } from '../../runs/execution/ports.ts'
import { faultOfScorer } from './score.ts'
import type { Scorer } from './scorer.ts'

export interface ScorerScope {
  schemas: Pick<CallerSchemas, 'faultOf'>
  caller: Owner
  /** Position of the scorers in the request. */
  at: Fault['loc']
}

/** What is measured where neither an experiment nor its dataset says so. */
const defaultScorers: readonly Scorer[] = [{ name: 'effects', kind: 'effects' }]

export function scorersOf(scorers: readonly Scorer[]): readonly Scorer[] {
  return scorers.length > 0 ? scorers : defaultScorers
}

/** Characters of all scorers as JSON. */
const maxCharacters = 262_144

/** The field that `faultOfScorer` reads. */
const checkedFields: Partial<Record<Scorer['kind'], string>> = { regex: 'pattern', json_path: 'path' }

/** Refuses scorers that cannot be used, with the place of the fault. */
export async function checkScorers(scorers: readonly Scorer[], { schemas, caller, at }: ScorerScope): Promise<void> {
  const characters = JSON.stringify(scorers).length
  if (characters > maxCharacters) throw invalid(at, `the scorers must have at most ${maxCharacters} characters together`, 'maxLength')
  const names = new Set<string>()
  for (const [n, scorer] of scorers.entries()) {
    if (names.has(scorer.name)) throw invalid([...at, n, 'name'], `another scorer has the name ${scorer.name}`)
    names.add(scorer.name)
    const fault = faultOfScorer(scorer)
    if (fault !== undefined) throw invalid([...at, n, checkedFields[scorer.kind] ?? 'kind'], fault)
    if (scorer.kind !== 'schema') continue
    const faulty = await schemas.faultOf('answer', scorer.schema, caller)
    if (faulty) throw invalid([...at, n, 'schema', ...faulty.path], faulty.msg, 'json_schema')
  }
}
