import type { Command } from 'commander'
import { AgentCoreError, type Client } from '../../../client/src/index.ts'
import { fieldsOf } from '../../json/shape.ts'
import type { ServiceOptions } from '../running-service.ts'
import { addServiceCommand, ask } from '../service-command.ts'
import { print, type Terminal, visible } from '../terminal.ts'
import { toRefusal } from './refusal.ts'

interface AddOptions extends ServiceOptions {
  dataset: string
  create?: true
  name?: string
  tag?: string[]
  issuer?: string
  sub?: string
}

export function addAdd(evaluation: Command, terminal: Terminal): void {
  addServiceCommand(
    evaluation,
    'add <run>',
    'Add a run to a dataset as an example: its question, what the model was shown, its calls and their outputs.',
  )
    .requiredOption('--dataset <name>', 'name or id of the dataset')
    .option('--create', 'create the dataset if it does not exist')
    .option('--name <name>', 'name of the example (default: the beginning of the question)')
    .option('--tag <tag...>', 'tags of the example')
    .option('--issuer <issuer>', 'the issuer of the caller of the run (default: that of the key)')
    .option('--sub <sub>', 'the caller of the run (default: that of the key)')
    .action(async (run: string, { dataset, create, tag: tags, name, issuer, sub, ...service }: AddOptions) => {
      const added = await ask(terminal, service, async (client) => {
        if (create) await createMissing(client, dataset)
        return client.evals.datasets.examples.addRun(dataset, run, { name, tags, issuer, sub }).catch((error: unknown) => {
          throw toRefusal(error, unknownName)
        })
      })
      const writes = added.recording.filter((call) => fieldsOf(call)['effect'] === 'write').length
      const note = added.reduced ? ' A part of what the model was shown is not known.' : ''
      print(terminal, `Example ${added.id} "${visible(added.name)}" was added. Calls: ${added.recording.length}, writes: ${writes}.${note}`)
    })
}

const unknownName =
  '"agent-core eval list" shows the datasets, and --create makes one. The run of another caller needs --sub and --issuer of the caller.'

async function createMissing({ evals: { datasets } }: Client, name: string): Promise<void> {
  try {
    await datasets.get(name)
  } catch (error) {
    if (!(error instanceof AgentCoreError && error.status === 404)) throw error
    await datasets.create({ name })
  }
}
