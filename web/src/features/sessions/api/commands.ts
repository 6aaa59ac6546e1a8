// What the Creator does to a Session. Each is safe to repeat by its request id; a call whose answer
// was lost is repeated with the same one.
import { useMutation } from '@tanstack/react-query'

import { newRequestId } from '@/lib/request-id'
import { Code, hasCode, sessions } from '@/lib/transport'

const lost = (error: unknown) => hasCode(error, Code.Unavailable) || hasCode(error, Code.DeadlineExceeded)
const retry = (failures: number, error: unknown) => failures < 4 && lost(error)

export function useSendPrompt(sessionId: string) {
  return useMutation({
    mutationFn: (prompt: { requestId: string; text: string }) =>
      sessions.sendPrompt({ sessionId, ...prompt }),
    retry,
  })
}

export function useCancelPrompt(sessionId: string) {
  return useMutation({
    mutationFn: (promptId: string) =>
      sessions.cancelPrompt({ sessionId, promptId, requestId: newRequestId() }),
    retry,
  })
}

export function useAnswerQuestion(sessionId: string) {
  return useMutation({
    mutationFn: (answer: { requestId: string; questionId: string; answers: string[] }) =>
      sessions.answerQuestion({ sessionId, ...answer }),
    retry,
  })
}

type Control = 'stopTurn' | 'sleepSession' | 'wakeSession' | 'resumeQueue'

export function useControl(sessionId: string) {
  return useMutation({
    mutationFn: async (control: Control): Promise<void> => {
      const request = { sessionId, requestId: newRequestId() }
      switch (control) {
        case 'stopTurn':
          await sessions.stopTurn(request)
          break
        case 'sleepSession':
          await sessions.sleepSession(request)
          break
        case 'wakeSession':
          await sessions.wakeSession(request)
          break
        case 'resumeQueue':
          await sessions.resumeQueue(request)
          break
      }
    },
  })
}
