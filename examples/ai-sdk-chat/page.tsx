import { useState, type FormEvent } from 'react'
import { createRoot } from 'react-dom/client'
import Markdown from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, type UIMessage } from 'ai'
import './page.css'

// The service has the earlier messages, so that only the new one is sent.
const transport = new DefaultChatTransport<UIMessage>({
  api: '/api/chat',
  prepareSendMessagesRequest: ({ id, messages }) => ({ body: { id, message: messages.at(-1) } }),
})

function Chat() {
  const [sessionId] = useState(() => crypto.randomUUID())
  const [question, setQuestion] = useState('')
  const { messages, sendMessage, status, stop, error } = useChat({ id: sessionId, transport })
  const isBusy = status === 'submitted' || status === 'streaming'

  function ask(event: FormEvent) {
    event.preventDefault()
    if (isBusy || question.trim() === '') return
    void sendMessage({ text: question })
    setQuestion('')
  }

  return (
    <main>
      <section aria-live="polite" aria-busy={isBusy}>
        <div>
          {messages.map((message) => (
            <Message key={message.id} message={message} />
          ))}
          {status === 'submitted' && <p className="waiting">…</p>}
          {error && <p role="alert">{error.message}</p>}
        </div>
      </section>
      <form onSubmit={ask}>
        <input aria-label="Question" placeholder="Ask something" value={question} onChange={(event) => setQuestion(event.target.value)} />
        {isBusy ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </main>
  )
}

function Message({ message }: { message: UIMessage }) {
  return (
    <article className={message.role}>
      {message.parts.map((part, index) => {
        if (part.type === 'reasoning') return <small key={index}>{part.text}</small>
        if (part.type !== 'text') return null
        if (message.role === 'user') return <p key={index}>{part.text}</p>
        return (
          <Markdown key={index} remarkPlugins={[remarkGfm]}>
            {part.text}
          </Markdown>
        )
      })}
    </article>
  )
}

createRoot(document.getElementById('page')!).render(<Chat />)
