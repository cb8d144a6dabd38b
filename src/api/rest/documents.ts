import * as v from 'valibot'
import type { Routes } from '../route.ts'

export const openapi = {
  read: {
    method: 'GET',
    path: '/api/v1/openapi.json',
    by: 'daemon',
    reply: v.pipe(v.looseObject({ openapi: v.string() }), v.description('OpenAPI 3.1.')),
  },
} as const satisfies Routes

export const docs = {
  read: {
    method: 'GET',
    path: '/api/v1/docs',
    by: 'daemon',
    media: ['text/html; charset=utf-8'],
  },
} as const satisfies Routes

export const tools = {
  catalogue: {
    method: 'GET',
    path: '/openapi.json',
    by: 'daemon',
    reply: v.pipe(v.looseObject({ openapi: v.string() }), v.description('OpenAPI 3.1.')),
  },
} as const satisfies Routes
