import { callerKey, type Owner } from '../../access/owner.ts'
import { FairQueue, shareOf } from '../../processes/fair-queue.ts'
import { InterpreterLost, type Interpreter } from './interpreter.ts'

/** Where the code of a conversation runs, with what earlier calls left there. */
export interface Room {
  readonly interpreter: Interpreter
  /** Files that were put into it, by path. */
  readonly given: Map<string, GivenFile>
}

export interface GivenFile {
  /** Another content has another one. */
  version: string
  bytes: number
  /** Its name without links, relative to the files root. */
  canonical: string
}

export interface Visit {
  session: string
  caller: Owner
  signal: AbortSignal
  /** How long to wait for a place. */
  patienceMs: number
  /** Whether the conversation may go on with what is in its room; otherwise it gets a new one. */
  accepts(room: Room): boolean
}

/** How a conversation finds its room. */
export interface Found {
  /** No code has run in it yet. */
  isFresh: boolean
  /** There was an earlier room, which has been ended. */
  hasForgotten: boolean
}

/** Python processes, one for each conversation that uses it. Calls of one conversation take turns. */
export interface Rooms {
  /**
   * Gives the room of a conversation to `work`. One caller has half of the processes at work at most, and callers take turns. Rejects with
   * an `Error` in words when there is no place in time.
   */
  visit<T>(visit: Visit, work: (room: Room, found: Found) => Promise<T>): Promise<T>
  /** Starts a process that waits for the next conversation. */
  prepare(): void
  close(): Promise<void>
}

export interface RoomsOptions {
  start(): Promise<Interpreter>
  /** Processes at a time, the spare one included. */
  max: number
  /** How long a room is kept after its last call. */
  keepMs: number
  /** How long a spare process waits when nobody uses Python. */
  spareMs?: number
  /** How long after one is taken the next is started. */
  spareDelayMs?: number
}

interface Place {
  session: string
  caller: Owner
  isBusy: boolean
  usedAt: number
  /** Whether code has run in it. */
  isUsed: boolean
  room?: Room
  timer?: NodeJS.Timeout
}

interface Waiting extends Visit {
  enter(place: Place): void
  refuse(error: unknown): void
}

const hourMs = 3_600_000
/** Conversations of which it is known that their variables are gone. */
const maxForgotten = 10_000

export function createRooms({ start, max, keepMs, spareMs = hourMs, spareDelayMs = 500 }: RoomsOptions): Rooms {
  const places = new Map<string, Place>()
  const waiting = new FairQueue<Waiting>()
  const share = shareOf(max)
  const forgotten = new Set<string>()
  /** Processes on their way out still have their memory. */
  const ending = new Set<Promise<void>>()
  let spare: Promise<Interpreter> | undefined
  let spareTimer: NodeJS.Timeout | undefined
  let restTimer: NodeJS.Timeout | undefined
  let closed = false

  function advance(): void {
    for (const one of waiting) admit(one)
  }

  function admit(one: Waiting): void {
    const own = places.get(one.session)
    if (own?.isBusy || isAtShare(one)) return
    if (own?.room?.interpreter.isAlive && one.accepts(own.room)) return enter(one, own)
    if (own) leave(own)
    const isFull = places.size + ending.size + (spare ? 1 : 0) >= max
    if (isFull && !spare) {
      // Whoever ends makes this be called again.
      const idle = findIdle()
      if (idle && ending.size === 0) leave(idle)
      return
    }
    void open(one)
  }

  function ofCaller(caller: Owner): Place[] {
    const key = callerKey(caller)
    return [...places.values()].filter((place) => callerKey(place.caller) === key)
  }

  function isAtShare({ caller }: Pick<Visit, 'caller'>): boolean {
    return ofCaller(caller).filter((place) => place.isBusy).length >= share
  }

  /** The place that is given up for another conversation: of the caller with the most places the one that was used longest ago. */
  function findIdle(): Place | undefined {
    const idle = [...places.values()].filter((place) => !place.isBusy)
    return idle.toSorted((a, b) => ofCaller(b.caller).length - ofCaller(a.caller).length || a.usedAt - b.usedAt)[0]
  }

  function enter(one: Waiting, place: Place): void {
    waiting.serve(one)
    clearTimeout(place.timer)
    place.isBusy = true
    one.enter(place)
  }

  async function open(one: Waiting): Promise<void> {
    const place: Place = { session: one.session, caller: one.caller, isBusy: true, isUsed: false, usedAt: Date.now() }
    places.set(one.session, place)
    try {
      const interpreter = await takeSpare()
      place.room = { interpreter, given: new Map() }
      void interpreter.gone.then(() => places.get(place.session) === place && !place.isBusy && leave(place))
    } catch (error) {
      places.delete(one.session)
      waiting.remove(one)
      one.refuse(new Error('Python can not be started at the moment.', { cause: error }))
      return advance()
    }
    if (closed) return leave(place)
    place.isBusy = false
    rest(place)
    advance()
  }

  /** The spare process, or a new one; afterwards another is made ready. */
  async function takeSpare(): Promise<Interpreter> {
    const taken = spare
    spare = undefined
    const ready = await taken?.catch(() => undefined)
    const interpreter = ready?.isAlive ? ready : await start()
    if (!closed) {
      clearTimeout(spareTimer)
      spareTimer = setTimeout(prepare, spareDelayMs).unref()
    }
    return interpreter
  }

  function prepare(): void {
    if (closed || spare || places.size + ending.size >= max) return
    const made = start()
    spare = made
    made.catch(() => spare === made && (spare = undefined))
    restSpare()
  }

  function restSpare(): void {
    clearTimeout(restTimer)
    restTimer = setTimeout(() => {
      const unused = spare
      spare = undefined
      void unused?.then((interpreter) => interpreter.end()).catch(() => {})
    }, spareMs).unref()
  }

  /** Ends the room of a conversation: its next call is told. */
  function leave(place: Place): void {
    places.delete(place.session)
    clearTimeout(place.timer)
    const { room } = place
    if (!room) return
    if (place.isUsed) remember(place.session)
    const end: Promise<void> = room.interpreter.end().finally(() => {
      ending.delete(end)
      advance()
    })
    ending.add(end)
  }

  function remember(session: string): void {
    forgotten.add(session)
    for (const oldest of forgotten) {
      if (forgotten.size <= maxForgotten) break
      forgotten.delete(oldest)
    }
  }

  function rest(place: Place): void {
    place.isBusy = false
    place.usedAt = Date.now()
    if (!place.room?.interpreter.isAlive || (keepMs === 0 && place.isUsed)) return leave(place)
    place.timer = setTimeout(() => leave(place), Math.max(keepMs, 1_000)).unref()
  }

  function waitFor(visit: Visit): Promise<Place> {
    return new Promise((resolve, reject) => {
      const stop = (error: unknown) => {
        waiting.remove(one)
        settle()
        reject(error)
      }
      const abort = () => stop(visit.signal.reason)
      const impatient = () =>
        stop(new Error(isAtShare(visit) && !places.has(visit.session) ? toOwnReason(share) : toReason(places.get(visit.session), max)))
      const timer = setTimeout(impatient, visit.patienceMs)
      const settle = () => {
        clearTimeout(timer)
        visit.signal.removeEventListener('abort', abort)
      }
      const one: Waiting = {
        ...visit,
        enter: (place) => {
          settle()
          resolve(place)
        },
        refuse: stop,
      }
      try {
        waiting.add(one)
      } catch (error) {
        return stop(error)
      }
      visit.signal.addEventListener('abort', abort, { once: true })
      advance()
    })
  }

  return {
    async visit(visit, work) {
      if (closed) throw new Error('Python is closed.')
      visit.signal.throwIfAborted()
      const place = await waitFor(visit)
      const room = place.room as Room
      const isFresh = !place.isUsed
      place.isUsed = true
      restSpare()
      try {
        return await work(room, { isFresh, hasForgotten: forgotten.delete(visit.session) })
      } catch (error) {
        // That it is gone the call itself is told, unless nobody listens any more.
        if (error instanceof InterpreterLost && !visit.signal.aborted) place.isUsed = false
        throw error
      } finally {
        if (closed) leave(place)
        else rest(place)
        advance()
      }
    },
    prepare,
    async close() {
      closed = true
      clearTimeout(spareTimer)
      clearTimeout(restTimer)
      for (const one of waiting.clear()) one.refuse(new Error('Python is closed.'))
      const unused = spare
      spare = undefined
      for (const place of places.values()) leave(place)
      await Promise.all([...ending, unused?.then((interpreter) => interpreter.end()).catch(() => {})])
    },
  }
}

function toOwnReason(share: number): string {
  return `Your other conversations have ${share} ${share === 1 ? 'call' : 'calls'} of Python running; no more run for one caller at a time. Try again later.`
}

/** Why a conversation has waited in vain. */
function toReason(own: Place | undefined, max: number): string {
  if (own?.room) return 'Python is still busy with an earlier call of this conversation.'
  if (own) return 'Python did not start in time. Try again.'
  return `All ${max} places for Python are taken by calls of other conversations. Try again later.`
}
