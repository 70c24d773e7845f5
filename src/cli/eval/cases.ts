import type { Experiment, ExperimentResult } from '../../../client/src/index.ts'
import { lastOf, toFinding, toLine } from './findings.ts'
import { toJunit, type JunitCase } from './junit.ts'

/** Collects the results of the last variant as a report of JUnit: a suite for each dataset, a case for each example and repetition. */
export function createCases(experiment: Experiment): { add(result: ExperimentResult): void; toXml(): string } {
  const suites = experiment.datasets.map(({ id, name }) => ({ id, name, cases: [] as JunitCase[] }))
  return {
    add(result) {
      suites.find(({ id }) => id === result.dataset_id)?.cases.push(toCase(result, experiment))
    },
    toXml: () => toJunit(`experiment ${experiment.id}`, suites),
  }
}

/** Added and changed writes fail a case, whatever its scorers say. */
function toCase(result: ExperimentResult, { repetitions }: Experiment): JunitCase {
  const last = lastOf(result)
  const { name: example, repetition, writes, divergence, faults } = toFinding(result)
  const name = repetitions > 1 ? `${example} (${repetition})` : example
  const seconds = (last?.duration_ms ?? 0) / 1000
  const hasWrites = last && last.effects.added.length + last.effects.changed.length > 0
  if (last?.outcome === 'passed' && !hasWrites) return { name, seconds }
  const lines = [...writes, ...(divergence === undefined ? [] : [divergence]), ...faults]
  const texts = [
    `Question: ${toLine(result.question)}`,
    `Recorded answer: ${toLine(result.recorded.output)}`,
    `Answer: ${toLine(last?.output ?? '')}`,
  ]
  const message = lines[0] ?? last?.outcome ?? 'no result'
  const kind = last?.outcome === 'error' || !last ? 'error' : 'failure'
  return { name, seconds, fault: { kind, message, text: [...lines, '', ...texts].join('\n') } }
}
