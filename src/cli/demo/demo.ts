import type { Command } from 'commander'
import type { CommandContext } from '../terminal.ts'
import type { CrashOptions } from './crash.ts'
import type { DemoOptions } from './stage.ts'

/** Adds demonstrations, which are loaded when they run. */
export function addDemo(program: Command, { terminal }: CommandContext): void {
  const demo = program.command('demo').description('Show on this machine what the service guarantees, without a key and a network.')
  addDemonstration(demo, 'crash', 'Kill the service with SIGKILL in the middle of a refund, start another process, and count the refunds.')
    .option('--twice', 'declare the refund as `read`, which may be repeated: what a plain retry does')
    .addHelpText('after', '\nThe exit code is 0 if the shop counted one refund, else 1.')
    .action(async (options: CrashOptions) => (await import('./crash.ts')).showCrash(terminal, options))
  addDemonstration(demo, 'replay', 'Replay recorded runs with changed instructions, and list the refunds that would be made twice.')
    .addHelpText('after', '\nThe exit code is 0 if the replay found each second refund and the shop counted none of the replay, else 1.')
    .action(async (options: DemoOptions) => (await import('./replay.ts')).showReplay(terminal, options))
  addDemonstration(
    demo,
    'budget',
    'Ask fifty times at once with a budget of one cent, kill the service meanwhile, and add up what the model calls cost.',
  )
    .addHelpText(
      'after',
      '\nThe exit code is 0 if each chat was answered or refused, and neither the bill nor the budget passed the limit, else 1.',
    )
    .action(async (options: DemoOptions) => (await import('./budget.ts')).showBudget(terminal, options))
}

function addDemonstration(demo: Command, name: string, description: string): Command {
  return demo
    .command(name)
    .description(description)
    .option('--keep', 'keep the folder of the demonstration, and print its path')
    .option('--json', 'print each event as a line of JSON')
}
