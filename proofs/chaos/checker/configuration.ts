import { ofKind, type OperationOf } from '../history/operations.ts'
import type { Facts } from './facts.ts'

type Read = OperationOf<'read configuration'>
type Write = OperationOf<'write configuration'>

/** A version with its write; the first version and dropping ones have no write. */
interface Version {
  version: string
  write: Write | undefined
}

/** Limit for the use of a new version in every process, and time for the recovery from a fault. */
const servedWithinMs = 2000
const recoveryMs = 12_000

/**
 * Versions form one line. Each write follows the version in its `if-match`, and no version has two followers. The line agrees with the times of
 * the writes: a register with compare-and-set is linearisable when no operation on a later version ends before an operation on an earlier
 * version begins. Reads come from memory: no process goes back, or shows a version before its write. Outside of faults, a process shows an old
 * version for two seconds at most.
 */
export function checkConfiguration({ history }: Facts): string[] {
  const writes = ofKind(history, 'write configuration')
  const reads = ofKind(history, 'read configuration').filter(({ result }) => result === 'ok')
  const line = toLine(writes, reads)
  if (line.faults.length > 0) return line.faults
  const { versions } = line
  const faults = ofKind(history, 'fault')
  return [
    ...checkWrites(versions),
    ...checkRefusals(versions, writes),
    ...checkProcesses(versions, reads),
    ...reads.flatMap((read) => checkAge(read, versions, faults)),
  ]
}

/**
 * The line of versions, from the version without a write. A write without an answer counts as applied where a read shows its value. A version
 * that drops changes follows the version that was shown last.
 */
function toLine(writes: readonly Write[], reads: readonly Read[]): { versions: Version[]; faults: string[] } {
  const byValue = new Map(reads.toReversed().map(({ reply }) => [reply!.value, reply!.version]))
  const versionOf = (write: Write) =>
    write.result === 'ok' ? write.reply?.version : isUnclear(write) ? byValue.get(write.args.value) : undefined
  const applied = writes.flatMap((write): { version: string; write: Write }[] => {
    const version = versionOf(write)
    return version === undefined ? [] : [{ version, write }]
  })
  const faults: string[] = []
  const next = new Map<string, Version>()
  for (const entry of applied) {
    const sibling = next.get(entry.write.args.ifMatch)
    if (sibling) faults.push(`configuration: ${sibling.version} and ${entry.version} both follow ${entry.write.args.ifMatch}`)
    next.set(entry.write.args.ifMatch, entry)
  }
  const writtenVersions = new Set(applied.map(({ version }) => version))
  const firsts = new Set([...reads.map(({ reply }) => reply!.version), ...next.keys()].filter((version) => !writtenVersions.has(version)))
  const [first, ...others] = firsts
  const versions: Version[] = first === undefined ? [] : [{ version: first, write: undefined }]
  const unwritten = others.filter((version) => {
    let before = versionBefore(version, reads, writes)
    if (before === undefined) return true
    // A read that began before a write may end after the write, and show an earlier version.
    while (next.has(before)) before = next.get(before)!.version
    next.set(before, { version, write: undefined })
    return false
  })
  if (unwritten.length > 0) faults.push(`configuration: nobody wrote ${unwritten.join(', ')}`)
  for (let entry = versions[0] && next.get(versions[0].version); entry; entry = next.get(entry.version)) versions.push(entry)
  if (applied.length > 0 && versions.length < firsts.size + applied.length && faults.length === 0)
    faults.push('configuration: the versions do not form one line')
  return { versions, faults }
}

/** True for a write that may have been applied: the balancer sends a refused write again, and a refusal may follow the commit. */
function isUnclear({ result, tries }: Write): boolean {
  return result === 'unknown' || (result === 'fail' && tries !== undefined)
}

/**
 * The version before one that dropped changes: the first process after all had stopped returns to an earlier value. Undefined where a process has
 * gone on meanwhile, or where no earlier version has the value.
 */
function versionBefore(version: string, reads: readonly Read[], writes: readonly Write[]): string | undefined {
  const shown = reads.find(({ reply }) => reply!.version === version)
  if (!shown) return undefined
  const before = reads.filter(({ endedAt }) => endedAt < shown.endedAt)
  const processes = new Set(before.map(({ process }) => process))
  const hasGoneOn = reads.some(({ endedAt, process }) => endedAt >= shown.endedAt && processes.has(process))
  if (hasGoneOn || !before.some(({ reply }) => reply!.value === shown.reply!.value)) return undefined
  const written = writes.filter(({ result, endedAt }) => result === 'ok' && endedAt < shown.endedAt)
  const last = [...before, ...written].reduce((latest, operation) => (operation.endedAt > latest.endedAt ? operation : latest))
  return last.reply!.version
}

/** No write ends before a write of an earlier version begins. */
function checkWrites(versions: readonly Version[]): string[] {
  let earliestEnd = Infinity
  let laterVersion = ''
  return versions.toReversed().flatMap(({ version, write }) => {
    if (!write) return []
    const anomalies =
      write.invokedAt > earliestEnd ? [`configuration: ${version} was written after ${laterVersion}, which follows it, was confirmed`] : []
    if (write.result === 'ok' && write.endedAt < earliestEnd) [earliestEnd, laterVersion] = [write.endedAt, version]
    return anomalies
  })
}

/** A refusal with 412 requires a moment during the request at which the named version was not current. */
function checkRefusals(versions: readonly Version[], writes: readonly Write[]): string[] {
  const places = new Map(versions.map(({ version }, index) => [version, index]))
  return writes.flatMap(({ args, status, invokedAt, endedAt }) => {
    const index = places.get(args.ifMatch)
    if (status !== 412 || index === undefined) return []
    const { write } = versions[index]!
    const following = versions[index + 1]?.write
    // Nobody knows when changes were dropped.
    if (versions[index + 1] && !following) return []
    // A write without an answer may have been applied without a read of its version.
    const mayBePast = writes.some(
      (otherWrite) => isUnclear(otherWrite) && otherWrite.args.ifMatch === args.ifMatch && otherWrite.invokedAt < endedAt,
    )
    const wasCurrent =
      !mayBePast &&
      (write === undefined || (write.result === 'ok' && write.endedAt < invokedAt)) &&
      (following?.invokedAt ?? Infinity) > endedAt
    return wasCurrent ? [`configuration: a write after ${args.ifMatch} was refused, though it was current`] : []
  })
}

/** Within a process the version never goes back, and no read shows a version before the begin of the write. */
function checkProcesses(versions: readonly Version[], reads: readonly Read[]): string[] {
  const places = new Map(versions.map(({ version }, index) => [version, index]))
  const placeOf = ({ reply }: Read) => places.get(reply!.version)!
  return [...Map.groupBy(reads, ({ process }) => process)].flatMap(([process, processReads]) =>
    processReads.flatMap((read) => {
      const before = processReads.find((earlier) => earlier.endedAt < read.invokedAt && placeOf(earlier) > placeOf(read))
      const { write } = versions[placeOf(read)]!
      return [
        ...(before ? [`configuration: ${process} shows ${read.reply!.version} after ${before.reply!.version}`] : []),
        ...(write && write.invokedAt > read.endedAt
          ? [`configuration: ${process} shows ${read.reply!.version} before it was written`]
          : []),
      ]
    }),
  )
}

function checkAge(read: Read, versions: readonly Version[], faults: readonly OperationOf<'fault'>[]): string[] {
  const index = versions.findIndex(({ version }) => version === read.reply!.version)
  const following = versions[index + 1]?.write
  if (!following || following.result !== 'ok' || following.endedAt + servedWithinMs >= read.invokedAt) return []
  const replica = read.process?.split('#')[0]
  const isDisturbed = faults.some(
    (fault) =>
      (fault.args.replica === undefined || fault.args.replica === replica) &&
      fault.invokedAt < read.endedAt &&
      fault.endedAt + recoveryMs > following.invokedAt,
  )
  return isDisturbed
    ? []
    : [`configuration: ${read.process} shows ${read.reply!.version} ${Math.round(read.invokedAt - following.endedAt)} ms after its change`]
}
