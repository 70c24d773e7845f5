import type { Command } from 'commander'
import { withoutControls } from '../chat/markdown-stream.ts'
import type { ServiceOptions } from '../running-service.ts'
import { addServiceCommand, ask } from '../service-command.ts'
import { formatTable, print, type Terminal } from '../terminal.ts'
import type { Experiment } from '../../../client/src/index.ts'
import { toLine } from './findings.ts'
import { newWrites, toPercent } from './report.ts'

/** Experiments that the list shows. */
const newest = 20

export function addList(evaluation: Command, terminal: Terminal): void {
  addServiceCommand(evaluation, 'list', `List the datasets of the tenant, and its ${newest} newest experiments.`).action(
    async (service: ServiceOptions) => {
      const datasets = [['dataset', 'id', 'revision', 'examples']]
      const experiments = [['experiment', 'datasets', 'status', 'verdict', 'pass rate', 'new writes', 'created']]
      await ask(terminal, service, async (client) => {
        for await (const { name, id, revision, examples } of client.evals.datasets.all({ limit: 100 }))
          datasets.push([toLine(name), id, String(revision), String(examples)])
        const page = await client.evals.experiments.list({ limit: newest })
        experiments.push(...page.experiments.map(toRow))
      })
      print(terminal, ...[...formatTable(datasets), '', ...formatTable(experiments)].map(withoutControls))
    },
  )
}

function toRow({ id, datasets, status, verdict, variants, effects, created_at: at }: Experiment): string[] {
  const rate = variants.at(-1)?.pass_rate ?? null
  const names = datasets.map(({ name }) => toLine(name)).join(', ')
  return [id, names, status, verdict, rate === null ? '-' : toPercent(rate), String(newWrites(effects)), at]
}
