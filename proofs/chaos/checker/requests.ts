import { ofKind } from '../history/operations.ts'
import type { Facts } from './facts.ts'
import { endOf, outputOf, toReadings } from './readings.ts'

interface Outcome {
  output: string
  source: string
}

/** A request id has one outcome for all repeats and readers. The outcome of a failed or abandoned run is not final: a repeat continues the run. */
export function checkRequests({ history }: Facts): string[] {
  const outcomes = new Map<string, Outcome[]>()
  const add = (requestId: string, outcome: Outcome) => {
    const earlier = outcomes.get(requestId)
    if (earlier) earlier.push(outcome)
    else outcomes.set(requestId, [outcome])
  }
  for (const { args, reply, process = '' } of ofKind(history, 'chat'))
    if (reply?.finish === 'stop' && reply.output !== undefined)
      add(args.requestId, { output: reply.output, source: `the answer of ${process}` })
  for (const reading of toReadings(history))
    if (endOf(reading) === 'stop') add(reading.requestId, { output: outputOf(reading), source: `reader ${reading.reader}` })
  for (const { args, reply, process = '' } of ofKind(history, 'read run'))
    if (reply?.state === 'success' && reply.output !== undefined)
      add(args.requestId, { output: reply.output, source: `the run at ${process}` })
  return [...outcomes].flatMap(([requestId, [first, ...others]]) => {
    const other = others.find(({ output }) => output !== first!.output)
    return other
      ? [`run ${requestId}: ${first!.source} has ${JSON.stringify(first!.output)}, ${other.source} ${JSON.stringify(other.output)}`]
      : []
  })
}
