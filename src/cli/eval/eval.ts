import type { Command } from 'commander'
import type { CommandContext } from '../terminal.ts'
import { addAdd } from './add.ts'

/** Adds commands for datasets and experiments of a running service. */
export function addEval(program: Command, { terminal }: CommandContext): void {
  const evaluation = program.command('eval').description('Try a change of the agent on recorded runs, before the change is used.')
  addAdd(evaluation, terminal)
}
