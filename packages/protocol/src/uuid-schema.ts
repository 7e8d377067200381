import { isUuid } from '@turnkeeper/core';
import { z } from 'zod';

/** An id between our own processes: the plain UUID, branded by what it names. */
export function uuidSchema<Id extends string>() {
  return z.custom<Id>((value) => typeof value === 'string' && isUuid(value));
}
