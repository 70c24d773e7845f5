import { test } from 'node:test'
import assert from 'node:assert/strict'
import { setTimeout as after } from 'node:timers/promises'
import type { Owner } from '../../access/owner.ts'
import { InterpreterLost, type Interpreter } from './interpreter.ts'
import { createRooms, type Found, type Room, type Rooms, type RoomsOptions } from './pool.ts'

interface Fake extends Interpreter {
  readonly name: number
  die(): void
}

function prepare(options: Partial<RoomsOptions> = {}): { rooms: Rooms; started: Fake[]; alive(): number[] } {
  const started: Fake[] = []
  const start = async (): Promise<Interpreter> => {
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    let isAlive = true
    const die = () => {
      isAlive = false
      resolve()
    }
    const fake: Fake = {
      name: started.length,
      get isAlive() {
        return isAlive
      },
      gone,
      run: () => Promise.reject(new Error('not used here')),
      end: async () => die(),
      die,
    }
    started.push(fake)
    return fake
  }
  const rooms = createRooms({ start, max: 2, keepMs: 60_000, spareDelayMs: 60_000, ...options })
  return { rooms, started, alive: () => started.filter((one) => one.isAlive).map((one) => one.name) }
}

interface Asked {
  caller?: Owner
  patienceMs?: number
  signal?: AbortSignal
  accepts?: (room: Room) => boolean
}

function enter<T>(rooms: Rooms, session: string, work: (room: Room, found: Found) => Promise<T>, asked: Asked = {}): Promise<T> {
  // Each conversation has a caller of its own, where a test does not say otherwise.
  const caller = { tenant: 'default', owner: session }
  return rooms.visit({ session, caller, signal: new AbortController().signal, patienceMs: 2_000, accepts: () => true, ...asked }, work)
}

const nameOf = async ({ interpreter }: Room) => (interpreter as Fake).name

test('a conversation finds its room again, and no other enters it', async () => {
  const { rooms } = prepare()
  assert.deepEqual([await enter(rooms, 'a', nameOf), await enter(rooms, 'b', nameOf), await enter(rooms, 'a', nameOf)], [0, 1, 0])
  assert.deepEqual(await enter(rooms, 'a', async (_room, found) => found), { isFresh: false, hasForgotten: false })
  await rooms.close()
})

test('calls of one conversation take turns', async () => {
  const { rooms } = prepare()
  const told: string[] = []
  const call = (name: string, ms: number) =>
    enter(rooms, 'a', async () => {
      told.push(`${name} begins`)
      await after(ms)
      told.push(`${name} ends`)
    })
  await Promise.all([call('first', 20), call('second', 1)])
  assert.deepEqual(told, ['first begins', 'first ends', 'second begins', 'second ends'])
  await rooms.close()
})

test('when all places are taken, the room that was left longest ago is given up, and its conversation is told', async () => {
  const { rooms, alive } = prepare()
  for (const session of ['a', 'b']) {
    await enter(rooms, session, nameOf)
    await after(2)
  }
  await enter(rooms, 'a', nameOf)
  assert.equal(await enter(rooms, 'c', nameOf), 2)
  assert.deepEqual(alive(), [0, 2])
  assert.deepEqual(await enter(rooms, 'b', async (_room, found) => found), { isFresh: true, hasForgotten: true })
  assert.deepEqual(await enter(rooms, 'b', async (_room, found) => found), { isFresh: false, hasForgotten: false })
  await rooms.close()
  assert.deepEqual(alive(), [])
})

test('who finds every place busy waits for one, for as long as it can', async () => {
  const { rooms, started } = prepare({ max: 1 })
  const { promise: held, resolve: leave } = Promise.withResolvers<void>()
  const holding = enter(rooms, 'a', () => held)
  await assert.rejects(enter(rooms, 'b', nameOf, { patienceMs: 20 }), /^Error: All 1 places for Python are taken/)
  await assert.rejects(enter(rooms, 'a', nameOf, { patienceMs: 20 }), /still busy with an earlier call of this conversation/)
  const leaving = new AbortController()
  const left = assert.rejects(enter(rooms, 'c', nameOf, { signal: leaving.signal }), /gone away/)
  leaving.abort(new Error('gone away'))
  await left
  const waiting = enter(rooms, 'b', nameOf)
  leave()
  await holding
  assert.equal(await waiting, 1)
  assert.equal(started.length, 2)
  await rooms.close()
})

test('a room is kept for its time', async () => {
  const { rooms, alive } = prepare({ keepMs: 0 })
  await enter(rooms, 'a', nameOf)
  assert.deepEqual(alive(), [])
  assert.deepEqual(await enter(rooms, 'a', async (_room, found) => found), { isFresh: true, hasForgotten: true })
  await rooms.close()
})

test('a spare process is ready before it is asked for, and goes when nobody comes', async () => {
  const { rooms, started, alive } = prepare({ max: 3, spareDelayMs: 1, spareMs: 60 })
  rooms.prepare()
  rooms.prepare()
  assert.deepEqual(alive(), [0])
  assert.equal(await enter(rooms, 'a', nameOf), 0)
  await after(20)
  assert.equal(started.length, 2)
  assert.equal(await enter(rooms, 'b', nameOf), 1)
  await after(150)
  assert.deepEqual(alive(), [0, 1])
  await rooms.close()
})

test('the spare process counts: there are never more than allowed', async () => {
  const { rooms, alive } = prepare({ max: 1, spareDelayMs: 1 })
  rooms.prepare()
  await Promise.all(['a', 'b', 'c'].map((session) => enter(rooms, session, async () => assert.ok(alive().length <= 1))))
  await after(10)
  assert.equal(alive().length, 1)
  await rooms.close()
})

test('a process that dies is replaced; its conversation is told once', async () => {
  const { rooms, started } = prepare()
  await enter(rooms, 'a', nameOf)
  started[0]?.die()
  await after(1)
  assert.deepEqual(await enter(rooms, 'a', async (_room, found) => found), { isFresh: true, hasForgotten: true })
  const lost = enter(rooms, 'a', async ({ interpreter }) => {
    ;(interpreter as Fake).die()
    throw new InterpreterLost('crash')
  })
  await assert.rejects(lost, InterpreterLost)
  assert.deepEqual(await enter(rooms, 'a', async (_room, found) => found), { isFresh: true, hasForgotten: false })
  await rooms.close()
})

test('a conversation that may not go on with its room gets a new one', async () => {
  const { rooms, alive } = prepare()
  await enter(rooms, 'a', nameOf)
  const found = await enter(rooms, 'a', async (_room, found) => found, { accepts: ({ interpreter }) => (interpreter as Fake).name > 0 })
  assert.deepEqual(found, { isFresh: true, hasForgotten: true })
  assert.deepEqual(alive(), [1])
  await rooms.close()
})

test('where no process can be started the call fails in words, and the next tries anew', async () => {
  let fails = true
  const fake = prepare()
  await enter(fake.rooms, 'x', nameOf)
  const rooms = createRooms({
    start: () => (fails ? Promise.reject(new Error('no')) : Promise.resolve(fake.started[0] as Interpreter)),
    max: 1,
    keepMs: 1_000,
  })
  await assert.rejects(enter(rooms, 'a', nameOf), /Python can not be started at the moment/)
  fails = false
  assert.equal(await enter(rooms, 'a', nameOf), 0)
  await rooms.close()
})

test('closing ends all processes and refuses what waits', async () => {
  const { rooms, alive } = prepare({ max: 1 })
  rooms.prepare()
  const holding = enter(rooms, 'a', () => after(30))
  const waiting = assert.rejects(enter(rooms, 'b', nameOf), /closed/)
  await after(5)
  await rooms.close()
  await waiting
  await holding
  assert.deepEqual(alive(), [])
  await assert.rejects(enter(rooms, 'a', nameOf), /closed/)
})

const ann: Owner = { tenant: 'one', owner: 'agent-core ann' }
const bob: Owner = { tenant: 'two', owner: 'agent-core bob' }

test('one caller has half of the processes at work, and another finds one at once', async () => {
  const { rooms } = prepare({ max: 4 })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const inside: string[] = []
  const hold = (session: string, caller: Owner) =>
    enter(
      rooms,
      session,
      async () => {
        inside.push(session)
        await held
      },
      { caller },
    )
  const calls = ['a1', 'a2', 'a3', 'a4'].map((session) => hold(session, ann))
  await after(1)
  assert.deepEqual(inside, ['a1', 'a2'])
  calls.push(hold('b1', bob))
  await after(1)
  assert.deepEqual(inside, ['a1', 'a2', 'b1'])
  const impatient = enter(rooms, 'a5', nameOf, { caller: ann, patienceMs: 20 })
  await assert.rejects(impatient, /^Error: Your other conversations have 2 calls of Python running; no more run for one caller at a time/)
  release()
  await Promise.all(calls)
  assert.deepEqual(inside, ['a1', 'a2', 'b1', 'a3', 'a4'])
  await rooms.close()
})

test('callers take turns where conversations wait for one process', async () => {
  const { rooms } = prepare({ max: 1 })
  const order: string[] = []
  const call = (session: string, caller: Owner) => enter(rooms, session, async () => void order.push(session), { caller })
  await Promise.all([call('a1', ann), call('a2', ann), call('a3', ann), call('b1', bob), call('b2', bob)])
  assert.deepEqual(order, ['a1', 'b1', 'a2', 'b2', 'a3'])
  await rooms.close()
})

test('a caller with many conversations gives up rooms of its own before those of another caller', async () => {
  const { rooms } = prepare({ max: 4 })
  await enter(rooms, 'b1', nameOf, { caller: bob })
  await after(2)
  for (const session of ['a1', 'a2', 'a3', 'a4', 'a5']) await enter(rooms, session, nameOf, { caller: ann })
  assert.deepEqual(await enter(rooms, 'b1', async (_room, found) => found, { caller: bob }), { isFresh: false, hasForgotten: false })
  await rooms.close()
})
