import type { Command } from 'commander'
import type { CommandContext } from '../terminal.ts'
import { addAdd } from './add.ts'
import { addList } from './list.ts'
import { addRun } from './run.ts'

/** Adds commands for datasets and experiments of a running service. */
export function addEval(program: Command, { terminal }: CommandContext): void {
  const evaluation = program.command('eval').description('Try a change of the agent on recorded runs, before the change is used.')
  addRun(evaluation, terminal)
  addAdd(evaluation, terminal)
  addList(evaluation, terminal)
}
