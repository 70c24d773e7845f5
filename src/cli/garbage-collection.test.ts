import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitGarbageCollection } from './garbage-collection.ts'

test('objects are collected in parallel only where a process has more than one core', () => {
  const flagsOf = (processes: number, cores: number): string[] => {
    const set: string[] = []
    fitGarbageCollection(processes, { cores, setFlags: (flags) => set.push(flags) })
    return set
  }
  assert.deepEqual(flagsOf(1, 1), ['--no-parallel-scavenge'])
  assert.deepEqual(flagsOf(4, 4), ['--no-parallel-scavenge'])
  assert.deepEqual(flagsOf(1, 2), [])
  assert.deepEqual(flagsOf(3, 4), [])
})
