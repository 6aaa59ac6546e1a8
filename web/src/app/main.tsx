import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'

import { followTheme } from '@/lib/theme'
import { retries, retryDelayMs } from '@/lib/retry'

import { router } from './router'
import './styles.css'

followTheme()

const client = new QueryClient({
  defaultOptions: {
    queries: { retry: retries, retryDelay: retryDelayMs },
  },
})

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
