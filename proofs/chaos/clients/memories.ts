import { setTimeout as sleep } from 'node:timers/promises'
import { sendChat } from './chat.ts'
import { send, type Load } from './service.ts'

/** Sends chats with `auto_memory_retain`, and lists and deletes memories. */
export async function remember(client: string, load: Load): Promise<void> {
  const { caller, random, isActive } = load
  for (let n = 0; isActive(); n++) {
    const requestId = `${client}-${n}`
    const chat = {
      client,
      requestId,
      session: `of-${client}`,
      position: n,
      mode: 'json',
      kind: 'talk',
      fields: { auto_memory_retain: true },
    } as const
    await sendChat(chat, load)
    for (let reads = 0; reads < 4; reads++, await sleep(random() * 500)) {
      const list = await send(
        caller,
        [client, 'list memories', { caller: caller.name }],
        { path: '/core/v1/memories?limit=1000' },
        (body) => ({
          memories: body.memories.map(({ id, content }: { id: string; content: string }) => ({ id, content })),
        }),
      )
      const oldest = list.reply?.memories.at(-1)
      if (!oldest || random() < 0.7) continue
      const request = { method: 'DELETE', path: `/core/v1/memories/${oldest.id}` }
      await send(caller, [client, 'forget memory', { caller: caller.name, id: oldest.id }], request, () => ({}))
    }
  }
}
