import { EgressError } from './error.ts';

/**
 * The same answer, its body cut off with an error when it grows too large. `onEnd` is called once, when the body has
 * ended, failed, or was given up, or at once when there is none.
 */
export function limitBody(
  answer: Response,
  how: { readonly bytesMax: number; readonly translate: (err: unknown) => unknown; readonly onEnd: () => void },
): Response {
  if (!answer.body) {
    how.onEnd();
    return answer;
  }
  const reader = answer.body.getReader();
  let bytes = 0;
  const fail = async (controller: ReadableStreamDefaultController, err: unknown) => {
    how.onEnd();
    controller.error(err);
    await reader.cancel(err);
  };
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) {
          how.onEnd();
          return controller.close();
        }
        bytes += value.byteLength;
        if (bytes > how.bytesMax) return await fail(controller, new EgressError('too_large'));
        controller.enqueue(value);
      } catch (err) {
        how.onEnd();
        controller.error(how.translate(err));
      }
    },
    cancel: (reason) => {
      how.onEnd();
      return reader.cancel(reason);
    },
  });
  const { status, statusText, headers } = answer;
  return new Response(body, { status, statusText, headers });
}
