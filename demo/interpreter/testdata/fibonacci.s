// The x0-th Fibonacci number, modulo 2^64, ends up in x1, is stored at 0x100 and
// printed. Every machine may be given another x0.

        movz  x1, #0            // F(n)
        movz  x2, #1            // F(n+1)
        cmp   x0, #0
        b.eq  done
next:   add   x3, x1, x2
        add   x1, x2, #0        // mov x1, x2 by way of an immediate
        add   x2, xzr, x3
        subs  x0, x0, #1
        b.ne  next
done:   movz  x4, #0x100
        str   x1, [x4]
        add   x0, xzr, x1
        svc   #1                // print x0
        hlt   #0
